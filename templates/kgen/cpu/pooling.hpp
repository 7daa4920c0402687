// What stands in windows, on the CPU: a line of results at a time. What the taps along the other axes see is combined
// first, into one line with the pads around it in the first-level cache; of that, each window takes what its taps along
// the last axis see. So a window of 5x5 takes 5 + 5 taps instead of 25, and only copies of lines have edges.
//
// One thread of a Zen 5, least of calls in microseconds, tap by tap and so: 3x3 with stride 2 over 64x112x112, channels
// first, 961 to 214, channels last 179 to 98; 5x5 over 256x20x20 1470 to 233; averages of 3x3 over 35x35x64 587 to 87,
// of 7x7 over 512x7x7 72 to 23. Where each tap sees for itself what lies outside, compilers also take ten times as long.
#pragma once

#include <algorithm>

#include "kgen/elementwise.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/windows.hpp"

namespace kgen::cpu {

// The elements of each window, as Reduction combines them.
template <class Reduction, int R, class X>
struct WindowSource {
  using T = source_lane_t<X, R>;
  X x;
  Windows<R> windows;

  // give(position, lanes) for `count` windows from `at` on, along the last axis.
  template <class Give>
  void reduce_line(const Index<R>& at, std::int64_t count, const Give& give) const {
    constexpr int last = R - 1;
    if (windows.window[last] == 1 && windows.strides[last] == 1 && windows.before[last] == 0 &&
        windows.behind[last] == 0) {
      return combine_lines(at, Range{at[last], at[last] + count}, give);
    }
    constexpr std::int64_t most_elements = 4096;  // but for a window that sees more
    const std::int64_t most = std::max<std::int64_t>(1, most_elements / windows.strides[last]);
    Index<R> position = at;
    for (std::int64_t done = 0; done < count; done += most, position[last] += most) {
      reduce_stretch(position, std::min(most, count - done), give);
    }
  }

 private:
  static constexpr std::int64_t slack = 64;  // elements that are read behind a line and do not count

  // Positions along the last axis that the windows of a stretch see, in one line.
  template <class Give>
  void reduce_stretch(const Index<R>& at, std::int64_t count, const Give& give) const {
    constexpr int last = R - 1;
    const std::int64_t step = windows.strides[last], dilation = windows.dilations[last];
    const std::int64_t first = windows.seen(last, at[last], 0), length = windows.reach(last, count);
    const T nothing = Reduction::template identity<T, 1>().data;
    T* line = scratch<T>(1, length + slack);
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, length);
    const std::int64_t end = std::clamp<std::int64_t>(windows.extents[last] - first, begin, length);
    std::fill(line, line + begin, nothing);
    std::fill(line + end, line + length, nothing);
    const auto keep = [&](std::int64_t position, const auto& lanes)
                          KGEN_LAMBDA { store_lanes(line + position - first, lanes); };
    combine_lines(at, Range{first + begin, first + end}, keep);
    const auto reduce = [&]<int W>(std::int64_t i) KGEN_LAMBDA {
      const T* from = line + i * step;
      auto total = every<W>(from, step);
      for (std::int64_t tap = 1; tap < windows.window[last]; ++tap) {
        total = Reduction::combine(total, every<W>(from + tap * dilation, step));
      }
      give(at[last] + i, total);
    };
    for_each_lane(0, count, reduce);
  }

  // W elements, `step` apart.
  template <int W>
  static Vec<T, W> every(const T* from, std::int64_t step) {
    if (W == 1 || step == 1) return load_lanes<W>(from);
    if constexpr (W > 1) {
      if (step == 2) return even_lanes(load_lanes<W>(from), load_lanes<W>(from + W));
    }
    T lanes[W];
    for (int i = 0; i < W; ++i) lanes[i] = from[i * step];
    return load_lanes<W>(lanes);
  }

  // What the taps along all axes but the last see at `columns` of that, given to `give`.
  template <class Give>
  void combine_lines(const Index<R>& at, Range columns, const Give& give) const {
    Index<R> first{}, counts{};
    std::int64_t outer = 1, inner = 1;  // taps along the axes before the last two, and along the last but one
    KGEN_UNROLL
    for (int axis = 0; axis < R - 1; ++axis) {
      const auto taps = windows.taps_within(axis, at[axis], 0, windows.extents[axis]);
      first[axis] = windows.seen(axis, at[axis], taps.first);
      counts[axis] = taps.count;
      (axis == R - 2 ? inner : outer) *= taps.count;
    }
    const Index<R> dilations = windows.dilations;
    const X source = x;
    const auto combine = [&]<int W>(std::int64_t column) KGEN_LAMBDA {
      auto total = Reduction::template identity<T, W>();
      Index<R> from = first, tap{};
      from[R - 1] = column;
      for (std::int64_t i = 0; i < outer; ++i) {
        for (std::int64_t j = 0; j < inner; ++j) {
          total = Reduction::combine(total, source.template load<W>(from));
          if constexpr (R > 1) from[R - 2] += dilations[R - 2];
        }
        bool carries = true;
        if constexpr (R > 1) from[R - 2] = first[R - 2];
        KGEN_UNROLL
        for (int axis = R - 3; axis >= 0; --axis) {
          from[axis] += carries ? dilations[axis] : 0;
          tap[axis] += carries ? 1 : 0;
          carries = carries && tap[axis] == counts[axis];
          if (carries) tap[axis] = 0, from[axis] = first[axis];
        }
      }
      give(column, total);
    };
    for_each_lane<4>(columns.begin, columns.end, combine);
  }
};

struct AsItIs {
  template <int R, class T, int W>
  Vec<T, W> operator()(const Windows<R>&, const Index<R>&, const Vec<T, W>& total) const {
    return total;
  }
};
struct ByCount {
  bool with_pads;

  template <int R, class T, int W>
  Vec<T, W> operator()(const Windows<R>& windows, const Index<R>& at, const Vec<T, W>& total) const {
    return total / window_counts<T, W>(windows, at, with_pads);
  }
};

// elementwise()'s functor. That `out` is its own View, and x is not, tells what may be turned and what may be streamed.
template <class Source, class Finish, class Out>
struct WindowLines {
  Source source;
  Finish finish;
  Out out;

  template <int R>
  void line(const Index<R>& at, std::int64_t count) const {
    source.reduce_line(at, count, [&](std::int64_t position, const auto& total) KGEN_LAMBDA {
      Index<R> to = at;
      to[R - 1] = position;
      store_to(out, to, finish(source.windows, to, total));
    });
  }
};

template <class Reduction, int R, class X, class Finish, class Out>
void finish_windows(const X& x, const Windows<R>& windows, const Finish& finish, const Out& out, Stream stream) {
  using Source = WindowSource<Reduction, R, X>;
  kgen::elementwise_across(windows.result, WindowLines<Source, Finish, Out>{{x, windows}, finish, out}, stream);
}

template <class Reduction, int R, class X, class Out>
void reduce_windows(const X& x, const Windows<R>& windows, const Out& out, Stream stream) {
  finish_windows<Reduction>(x, windows, AsItIs{}, out, stream);
}

template <int R, class X, class Out>
void average_windows(const X& x, const Windows<R>& windows, bool with_pads, const Out& out, Stream stream) {
  finish_windows<Sum>(x, windows, ByCount{with_pads}, out, stream);
}

}  // namespace kgen::cpu
