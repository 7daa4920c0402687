// What stands in windows, on a GPU: each thread takes the taps of its own positions.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/windows.hpp"

namespace kgen::gpu {

// The elements of each window, as Reduction combines them.
template <class Reduction, int R, class X>
struct ReducedWindows {
  using T = source_lane_t<X, R>;
  X x;
  Windows<R> windows;

  // More at a time would not find registers.
  static constexpr int most_lanes = 8;

  template <int W>
  KGEN_FN Vec<T, W> load(const Index<R>& at) const {
    if constexpr (W > most_lanes) {
      Index<R> next = at;
      next[R - 1] += W / 2;
      return concatenate(load<W / 2>(at), load<W / 2>(next));
    } else {
      auto total = Reduction::template identity<T, W>();
      Index<R> tap{};
      do {
        Index<R> from{};
        bool inside = true;
        KGEN_UNROLL
        for (int axis = 0; axis < R; ++axis) {
          from[axis] = windows.seen(axis, at[axis], tap[axis]);
          if (axis < R - 1) inside = inside && from[axis] >= 0 && from[axis] < windows.extents[axis];
        }
        if (inside) total = Reduction::combine(total, line<W>(from));
      } while (windows.advance(tap));
      return total;
    }
  }

  // What one tap sees from W positions along the last axis; what leaves the reduction as it is where that is outside.
  template <int W>
  KGEN_FN Vec<T, W> line(Index<R> from) const {
    const std::int64_t step = windows.strides[R - 1], extent = windows.extents[R - 1], first = from[R - 1];
    if constexpr (W > 1) {
      if (step == 1 && first >= 0 && first + W <= extent) return load_anywhere<W>(x, from);
    }
    const T nothing = Reduction::template identity<T, 1>().data;
    T lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      from[R - 1] = first + i * step;
      lanes[i] = nothing;
      if (from[R - 1] >= 0 && from[R - 1] < extent) lanes[i] = x.template load<1>(from).data;
    }
    return load_lanes<W>(lanes);
  }
};

template <int R, class X>
struct WindowAverages {
  ReducedWindows<Sum, R, X> sums;
  bool with_pads;

  template <int W>
  KGEN_FN auto load(const Index<R>& at) const {
    return sums.template load<W>(at) / window_counts<source_lane_t<X, R>, W>(sums.windows, at, with_pads);
  }
};

template <class Reduction, int R, class X, class Out>
void reduce_windows(const X& x, const Windows<R>& windows, const Out& out, Stream stream) {
  copy(windows.result, ReducedWindows<Reduction, R, X>{x, windows}, out, stream);
}

template <int R, class X, class Out>
void average_windows(const X& x, const Windows<R>& windows, bool with_pads, const Out& out, Stream stream) {
  copy(windows.result, WindowAverages<R, X>{{x, windows}, with_pads}, out, stream);
}

}  // namespace kgen::gpu
