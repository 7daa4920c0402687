// Depthwise convolutions on the CPU: lanes along the channels, four registers of them at a time, whose sums stay there
// while the taps that see the image go by. The bounds of those are found once for a position, so that a tap costs two
// loads and a multiply-add for each register, and a pointer's step. Filters lie in lines of channels, or, packed when
// the model was loaded, in panels of 16 of them (kgen/packed_convolution.hpp).
#pragma once

#include "kgen/cpu/elementwise.hpp"
#include "kgen/im2col.hpp"

namespace kgen::cpu {

// The taps of a position that see the image, along each axis, and what the first of them sees.
template <int A>
struct SeenTaps {
  Index<A> begin, end;
  Index<A + 1> from;

  SeenTaps(const ConvolutionShape<A>& sizes, const Index<A + 1>& position) : from(sizes.tap(position, Index<A>{})) {
    for (int axis = 0; axis < A; ++axis) {
      const std::int64_t step = sizes.dilations[axis], first = from[axis + 1], left = sizes.image[axis] - first;
      begin[axis] = first < 0 ? (-first + step - 1) / step : 0;
      end[axis] = std::clamp<std::int64_t>(left > 0 ? (left + step - 1) / step : 0, 0, sizes.filter[axis]);
      from[axis + 1] += begin[axis] * step;
    }
  }
  bool none() const {
    for (int axis = 0; axis < A; ++axis) {
      if (begin[axis] >= end[axis]) return true;
    }
    return false;
  }
};

// body(seen, tap, count) for each line of taps that see the image: where the first of them sees channel `channel`, and
// which it is, and how many there are along the last axis.
template <int A, class X, class Body>
KGEN_FN void for_each_tap_line(const X& x, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                               std::int64_t channel, const Body& body) {
  if (taps.none()) return;
  Index<A> tap = taps.begin;
  do {
    Index<A + 1> from = taps.from;
    for (int axis = 0; axis < A - 1; ++axis) from[axis + 1] += (tap[axis] - taps.begin[axis]) * sizes.dilations[axis];
    body(x.data() + element_offset(x.strides(), join(from, Index<1>{channel})), tap,
         taps.end[A - 1] - taps.begin[A - 1]);
  } while (advance(tap, A - 1, taps.begin, taps.end));
}
// The same, with where the tap of that channel stands in the filters.
template <int A, class X, class F, class Body>
KGEN_FN void for_each_line(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                           std::int64_t channel, const Body& body) {
  const auto with_filter = [&](auto seen, const Index<A>& tap, std::int64_t count) KGEN_LAMBDA {
    body(seen, filters.data() + element_offset(filters.strides(), join(tap, Index<2>{0, channel})), count);
  };
  for_each_tap_line(x, sizes, taps, channel, with_filter);
}

// Filters of one channel each: [taps..., 1, channels], neighbours in memory.
template <class F, int A>
struct FilterLines {
  static constexpr int together = 4 * lanes_of<float>;  // channels whose taps lie together
  F view;

  auto at(const Index<A>& tap, std::int64_t channel) const {
    return view.data() + element_offset(view.strides(), join(tap, Index<2>{0, channel}));
  }
  std::int64_t step() const { return view.stride(A - 1); }  // from a tap to the next
  std::int64_t next() const { return together; }
};
// The same in panels.
template <class T, int A>
struct FilterTapPanels {
  static constexpr int together = 16;
  const T* data;
  Index<A> filter;

  const T* at(const Index<A>& tap, std::int64_t channel) const {
    return data + channel / together * next() + flatten(tap, filter) * together + channel % together;
  }
  static std::int64_t step() { return together; }
  std::int64_t next() const { return element_count(filter) * together; }  // from a panel to the next
};

// The sum over the taps of channels `channel` to channel + W - 1, which are neighbours in x.
template <int W, class T, int A, class X, class F>
KGEN_FN Vec<T, W> sum_of_taps(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                              std::int64_t channel) {
  constexpr int width = std::min(W, F::together), parts = W / width;
  Vec<T, width> sums[parts];
#pragma GCC unroll 8
  for (int i = 0; i < parts; ++i) sums[i] = Vec<T, width>(T(0));
  for_each_tap_line(x, sizes, taps, channel, [&](auto seen, const Index<A>& tap, std::int64_t count) KGEN_LAMBDA {
    auto filter = filters.at(tap, channel);
    const std::int64_t x_step = sizes.dilations[A - 1] * x.stride(A), next = filters.next();
    for (std::int64_t t = 0; t < count; ++t, seen += x_step, filter += filters.step()) {
#pragma GCC unroll 8
      for (int i = 0; i < parts; ++i) {
        sums[i] = multiply_add(convert<T>(load_elements<width>(seen + i * width)),
                               convert<T>(load_elements<width>(filter + i * next)), sums[i]);
      }
    }
  });
  if constexpr (parts == 1) return sums[0];
  T lanes[W];
#pragma GCC unroll 8
  for (int i = 0; i < parts; ++i) store_lanes(lanes + i * width, sums[i]);
  return load_lanes<W>(lanes);
}

// All channels of every position. Those of x are neighbours in memory.
template <class T, int A, class X, class F, class Out>
void convolve_channels(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out, Stream stream) {
  const std::int64_t channels = x.extent(A + 1), positions = sizes.positions();
  parallel(threads_for(stream, positions * channels * element_count(sizes.filter) / 8), [&](Team team) {
    const Range part = team.part(positions);
    if (part.begin == part.end) return;
    Index<A + 1> position = sizes.position(part.begin);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const SeenTaps<A> taps(sizes, position);
      const auto step = [&]<int W>(std::int64_t channel) KGEN_LAMBDA {
        store_to(out, join(position, Index<1>{channel}), sum_of_taps<W, T>(x, filters, sizes, taps, channel));
      };
      for_each_lane<4>(0, channels, step);
      advance(position, A + 1, Index<A + 1>{}, join(Index<1>{sizes.images}, sizes.result));
    }
  });
}

// Computes all, and returns true; or false where the channels are no neighbours in memory.
template <int A, class X, class F, class Out>
bool depthwise_convolution(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out,
                           Stream stream) {
  if constexpr (!is_view<X> || !is_view<F>) {
    return false;
  } else {
    if (x.stride(A + 1) != 1 || filters.stride(A + 1) != 1) return false;
    convolve_channels<source_lane_t<X, A + 2>>(x, FilterLines<F, A>{filters}, sizes, out, stream);
    return true;
  }
}

}  // namespace kgen::cpu
