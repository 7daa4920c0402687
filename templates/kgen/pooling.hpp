// What stands in windows that move over a tensor, along any of its axes.
#pragma once

#include <cassert>
#include <type_traits>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/ops/reductions.hpp"

namespace kgen {

// How a tensor's positions are numbered: in row-major order, or with the axes from the third on in reverse.
enum class StorageOrder { row_major, column_major };

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
  // How many taps see what is in the tensor, or in it and its pads.
  KGEN_FN std::int64_t count(const Index<R>& at, bool with_pads) const {
    std::int64_t product = 1;
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) {
      const std::int64_t first = seen(axis, at[axis], 0), step = dilations[axis];
      const std::int64_t low = with_pads ? -before[axis] : 0, high = extents[axis] + (with_pads ? behind[axis] : 0);
      const std::int64_t skipped = first < low ? (low - first + step - 1) / step : 0;
      const std::int64_t reached = first < high ? (high - first + step - 1) / step : 0;
      const std::int64_t end = reached < window[axis] ? reached : window[axis];
      product *= end > skipped ? end - skipped : 0;
    }
    return product;
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

namespace detail {

// The elements of each window, as Reduction combines them.
template <class Reduction, int R, class X>
struct ReducedWindows {
  using T = source_lane_t<X, R>;
  X x;
  Windows<R> windows;

  static constexpr bool seeks = true;  // each tap anew: cpu/elementwise.hpp
  // More at a time would not find registers on a GPU.
  static constexpr int most_lanes = register_bytes == 0 ? 8 : 64;

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
    // Of every second element two registers are loaded, and their even lanes kept; where a part of them lies outside,
    // each half sees for itself. Lane by lane, 3x3 with stride 2 over rows of 112 took four times as long.
    if constexpr (W > 1 && register_bytes > 0) {
      Index<R> next = from;
      if (step == 2 && first >= 0 && first + 2 * W <= extent) {
        next[R - 1] += W;
        return even_lanes(load_anywhere<W>(x, from), load_anywhere<W>(x, next));
      }
      if constexpr (W >= 4) {
        next[R - 1] += W / 2 * step;
        return concatenate(line<W / 2>(from), line<W / 2>(next));
      }
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
  static constexpr bool seeks = true;
  ReducedWindows<Sum, R, X> sums;
  bool count_include_pad;

  template <int W>
  KGEN_FN auto load(const Index<R>& at) const {
    using T = source_lane_t<X, R>;
    T counts[W];
    Index<R> each = at;
    KGEN_UNROLL
    for (int i = 0; i < W; ++i, ++each[R - 1]) {
      counts[i] = static_cast<T>(sums.windows.count(each, count_include_pad));
    }
    return sums.template load<W>(at) / load_lanes<W>(counts);
  }
};

// The greatest of each window, and where it stands.
template <int R, class X, class Values, class Indices>
struct WindowArguments {
  X x;
  Windows<R> windows;
  Index<R> steps;  // of the numbers of positions, along each axis
  Values values;
  Indices indices;

  template <int W>
  KGEN_FN void operator()(Index<R> at) const {
    for (int lane = 0; lane < W; ++lane, ++at[R - 1]) find(at);
  }
  KGEN_FN void find(const Index<R>& at) const {
    using T = source_lane_t<X, R>;
    T best = Max::template identity<T, 1>().data;
    std::int64_t place = -1;
    Index<R> tap{};
    do {
      Index<R> from{};
      bool inside = true;
      std::int64_t number = 0;
      KGEN_UNROLL
      for (int axis = 0; axis < R; ++axis) {
        from[axis] = windows.seen(axis, at[axis], tap[axis]);
        inside = inside && from[axis] >= 0 && from[axis] < windows.extents[axis];
        number += from[axis] * steps[axis];
      }
      if (!inside) continue;
      const T value = x.template load<1>(from).data;
      if (place < 0 || value > best || (value != value && best == best)) best = value, place = number;
    } while (windows.advance(tap));
    store_to(values, at, Vec<T, 1>(best));
    store_to(indices, at, Vec<std::int64_t, 1>(place));
  }
};

// The four axes of images, channels last, for windows over rows and columns.
inline Index<4> over_image(const Index<2>& sizes, std::int64_t other) { return {other, sizes[0], sizes[1], other}; }
inline Index<8> over_image(const Index<4>& pads) { return {0, pads[0], pads[1], 0, 0, pads[2], pads[3], 0}; }

}  // namespace detail

// out[p] = the greatest x[p * strides + tap * dilations - pads in front] over the taps of the window that see x. NaN
// where one is NaN; -inf (integers: the least value) where none does. window, strides, dilations: one for each axis of
// x; pads: in front of each axis, then behind each. ceil_mode: as windows_over() has it. A prologue on x is evaluated
// for each tap anew.
template <AnySource X, int R, int P, SinkLike<X> Out>
KGEN_KERNEL(max_pool)
KGEN_EVALUATED(x, "(rank(x) > 0 ? (window[0] + strides[0] - 1) / strides[0] : 1) * "
                  "(rank(x) > 1 ? (window[1] + strides[1] - 1) / strides[1] : 1) * "
                  "(rank(x) > 2 ? (window[2] + strides[2] - 1) / strides[2] : 1) * "
                  "(rank(x) > 3 ? (window[3] + strides[3] - 1) / strides[3] : 1) * "
                  "(rank(x) > 4 ? (window[4] + strides[4] - 1) / strides[4] : 1)")
void max_pool(const X& x, Index<R> window, Index<R> strides, Index<P> pads, Index<R> dilations, bool ceil_mode,
              const Out& out, Stream stream = {}) requires Number<source_lane_t<X, source_rank<X>>> {
  const auto windows = windows_over<R>(x.shape(), window, strides, pads, dilations, ceil_mode);
  copy(windows.result, detail::ReducedWindows<Max, R, X>{x, windows}, out, stream);
}

// The same and, as indices, the number of its position in x: the first of several that are greatest, that of the first
// NaN where there is one, -1 where the window sees nothing.
template <AnySource X, int R, int P, SinkLike<X> Values, Sink<std::int64_t, source_rank<X>> Indices>
KGEN_KERNEL(max_pool_with_indices)
KGEN_EVALUATED(x, "(rank(x) > 0 ? (window[0] + strides[0] - 1) / strides[0] : 1) * "
                  "(rank(x) > 1 ? (window[1] + strides[1] - 1) / strides[1] : 1) * "
                  "(rank(x) > 2 ? (window[2] + strides[2] - 1) / strides[2] : 1) * "
                  "(rank(x) > 3 ? (window[3] + strides[3] - 1) / strides[3] : 1) * "
                  "(rank(x) > 4 ? (window[4] + strides[4] - 1) / strides[4] : 1)")
void max_pool_with_indices(const X& x, Index<R> window, Index<R> strides, Index<P> pads, Index<R> dilations,
                           bool ceil_mode, StorageOrder storage_order, const Values& values, const Indices& indices,
                           Stream stream = {}) requires Number<source_lane_t<X, source_rank<X>>> {
  const auto windows = windows_over<R>(x.shape(), window, strides, pads, dilations, ceil_mode);
  Index<R> steps = dense_strides(windows.extents);
  if (storage_order == StorageOrder::column_major) {
    std::int64_t step = 1;
    for (int axis = 2; axis < R; ++axis) {
      steps[axis] = step;
      step *= windows.extents[axis];
    }
  }
  const detail::WindowArguments<R, X, Values, Indices> body{x, windows, steps, values, indices};
  elementwise(windows.result, body, stream);
}

// The sum of what each window sees, in the lanes' type.
template <AnySource X, int R, int P, SinkLike<X> Out>
KGEN_KERNEL(sum_pool)
KGEN_EVALUATED(x, "(rank(x) > 0 ? (window[0] + strides[0] - 1) / strides[0] : 1) * "
                  "(rank(x) > 1 ? (window[1] + strides[1] - 1) / strides[1] : 1) * "
                  "(rank(x) > 2 ? (window[2] + strides[2] - 1) / strides[2] : 1) * "
                  "(rank(x) > 3 ? (window[3] + strides[3] - 1) / strides[3] : 1) * "
                  "(rank(x) > 4 ? (window[4] + strides[4] - 1) / strides[4] : 1)")
void sum_pool(const X& x, Index<R> window, Index<R> strides, Index<P> pads, Index<R> dilations, bool ceil_mode,
              const Out& out, Stream stream = {}) requires Float<source_lane_t<X, source_rank<X>>> {
  const auto windows = windows_over<R>(x.shape(), window, strides, pads, dilations, ceil_mode);
  copy(windows.result, detail::ReducedWindows<Sum, R, X>{x, windows}, out, stream);
}

// The average of what each window sees, accumulated in f32 (f64 for f64); NaN where it sees nothing. count_include_pad:
// the pads count, as 0; what ceil_mode adds behind them does not.
template <AnySource X, int R, int P, SinkLike<X> Out>
KGEN_KERNEL(average_pool)
KGEN_EVALUATED(x, "(rank(x) > 0 ? (window[0] + strides[0] - 1) / strides[0] : 1) * "
                  "(rank(x) > 1 ? (window[1] + strides[1] - 1) / strides[1] : 1) * "
                  "(rank(x) > 2 ? (window[2] + strides[2] - 1) / strides[2] : 1) * "
                  "(rank(x) > 3 ? (window[3] + strides[3] - 1) / strides[3] : 1) * "
                  "(rank(x) > 4 ? (window[4] + strides[4] - 1) / strides[4] : 1)")
void average_pool(const X& x, Index<R> window, Index<R> strides, Index<P> pads, Index<R> dilations, bool ceil_mode,
                  bool count_include_pad, const Out& out,
                  Stream stream = {}) requires Float<source_lane_t<X, source_rank<X>>> {
  const auto windows = windows_over<R>(x.shape(), window, strides, pads, dilations, ceil_mode);
  copy(windows.result, detail::WindowAverages<R, X>{{x, windows}, count_include_pad}, out, stream);
}

// max_pool over the rows and columns of images. x: [N, H, W, C]; out: [N, OH, OW, C]. pads: rows above, columns left,
// rows below, columns right.
template <Source<4> X, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(max_pool2d)
KGEN_EVALUATED(x, "(window[0] + strides[0] - 1) / strides[0] * ((window[1] + strides[1] - 1) / strides[1])")
void max_pool2d(const X& x, Index<2> window, Index<2> strides, Index<4> pads, Index<2> dilations, const Out& out,
                Stream stream = {})
requires Number<source_lane_t<X, 4>>
{
  max_pool(x, detail::over_image(window, 1), detail::over_image(strides, 1), detail::over_image(pads),
           detail::over_image(dilations, 1), false, out, stream);
}

// average_pool over them.
template <Source<4> X, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(average_pool2d)
KGEN_EVALUATED(x, "(window[0] + strides[0] - 1) / strides[0] * ((window[1] + strides[1] - 1) / strides[1])")
void average_pool2d(const X& x, Index<2> window, Index<2> strides, Index<4> pads, Index<2> dilations,
                    bool count_include_pad, const Out& out, Stream stream = {})
requires Float<source_lane_t<X, 4>>
{
  average_pool(x, detail::over_image(window, 1), detail::over_image(strides, 1), detail::over_image(pads),
               detail::over_image(dilations, 1), false, count_include_pad, out, stream);
}

}  // namespace kgen
