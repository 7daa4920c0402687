// Where windows stand that move over a tensor, along any of its axes.
#pragma once

#include <cassert>
#include <cstdint>

#include "kgen/index.hpp"
#include "kgen/platform.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// Where windows are: the window of position p sees the elements p * strides + tap * dilations - before, for each tap of
// the window. Those outside of the tensor do not count.
template <int R>
struct Windows {
  Index<R> extents, window, strides, dilations, before, behind;  // before, behind: the pads
  Index<R> result;

  // The element that a tap sees along an axis.
  KGEN_FN std::int64_t seen(int axis, std::int64_t position, std::int64_t tap) const {
    return position * strides[axis] + tap * dilations[axis] - before[axis];
  }
  // From the first element that `count` windows see along an axis to the end of what they see.
  KGEN_FN std::int64_t reach(int axis, std::int64_t count) const {
    return (count - 1) * strides[axis] + (window[axis] - 1) * dilations[axis] + 1;
  }
  // Moves to the next tap, without addressing it, which would put it into a GPU's memory. False behind the last one.
  KGEN_FN bool advance(Index<R>& tap) const {
    bool carries = true;
    KGEN_UNROLL
    for (int axis = R - 1; axis >= 0; --axis) {
      tap[axis] += carries ? 1 : 0;
      carries = carries && tap[axis] == window[axis];
      if (carries) tap[axis] = 0;
    }
    return !carries;
  }
  // Those taps along an axis that see what lies from `low` to `high`: from the first on, and how many.
  struct Taps {
    std::int64_t first, count;
  };
  KGEN_FN Taps taps_within(int axis, std::int64_t position, std::int64_t low, std::int64_t high) const {
    const std::int64_t begin = seen(axis, position, 0), step = dilations[axis], most = window[axis];
    if (begin >= low && begin + step * (most - 1) < high) return {0, most};  // spares the divisions
    const std::int64_t first = begin < low ? (low - begin + step - 1) / step : 0;
    const std::int64_t reached = begin < high ? (high - begin + step - 1) / step : 0;
    const std::int64_t end = reached < most ? reached : most;
    return {first, end > first ? end - first : 0};
  }
  // How many taps along an axis see what is in the tensor, or in it and its pads.
  KGEN_FN std::int64_t count(int axis, std::int64_t position, bool with_pads) const {
    if (!with_pads) return taps_within(axis, position, 0, extents[axis]).count;
    return taps_within(axis, position, -before[axis], extents[axis] + behind[axis]).count;
  }
};

// pads: in front of each axis, then behind each. ceil_mode: the last window may reach beyond the pads, but begins at an
// element or in the pads in front.
template <int R>
Windows<R> windows_over(const Index<R>& extents, const Index<R>& window, const Index<R>& strides,
                        const Index<2 * R>& pads, const Index<R>& dilations, bool ceil_mode) {
  Windows<R> windows{extents, window, strides, dilations, first_axes<R>(pads), last_axes<R>(pads), {}};
  for (int axis = 0; axis < R; ++axis) {
    const std::int64_t stride = strides[axis], reach = dilations[axis] * (window[axis] - 1) + 1;
    assert(window[axis] >= 1 && stride >= 1 && dilations[axis] >= 1);
    std::int64_t last = extents[axis] + windows.before[axis] + windows.behind[axis] - reach;
    if (ceil_mode) {
      const std::int64_t more = windows.behind[axis] + stride - reach;
      last = extents[axis] + windows.before[axis] - 1 + (more < 0 ? more : 0);
    }
    windows.result[axis] = floor_divide(last, stride) + 1;
  }
  return windows;
}

// How many elements each of W windows sees.
template <class T, int W, int R>
KGEN_FN Vec<T, W> window_counts(const Windows<R>& windows, const Index<R>& at, bool with_pads) {
  std::int64_t outer = 1;
  KGEN_UNROLL
  for (int axis = 0; axis < R - 1; ++axis) outer *= windows.count(axis, at[axis], with_pads);
  T counts[W];
  KGEN_UNROLL
  for (int i = 0; i < W; ++i) {
    counts[i] = static_cast<T>(outer * windows.count(R - 1, at[R - 1] + i, with_pads));
  }
  return load_lanes<W>(counts);
}

}  // namespace kgen
