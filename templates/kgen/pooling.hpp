// What stands in windows that move over a tensor, along any of its axes.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/windows.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/pooling.hpp"
#else
#include "kgen/cpu/pooling.hpp"
#endif

namespace kgen {

// How a tensor's positions are numbered: in row-major order, or with the axes from the third on in reverse.
enum class StorageOrder { row_major, column_major };

namespace detail {

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
  target::reduce_windows<Max>(x, windows, out, stream);
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
  target::reduce_windows<Sum>(x, windows, out, stream);
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
  target::average_windows(x, windows, count_include_pad, out, stream);
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
