// What stands in windows that move over the rows and columns of images, channels last.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/im2col.hpp"
#include "kgen/introspect.hpp"
#include "kgen/ops/reductions.hpp"

namespace kgen {

namespace detail {

// Lanes along the channels.
template <class X>
struct Window {
  X x;
  ConvolutionShape sizes;

  KGEN_FN Index<4> shape() const {
    return join(Index<3>{sizes.images, sizes.result[0], sizes.result[1]}, Index<1>{sizes.channels});
  }

  // The elements of the window of a position of the result, as Reduction combines them, and how many they are.
  template <class Reduction, int W>
  KGEN_FN auto reduce(const Index<4>& at, std::int64_t& count) const {
    auto total = Reduction::template identity<source_lane_t<X, 4>, W>();
    Index<2> tap{};
    for (tap[0] = 0; tap[0] < sizes.filter[0]; ++tap[0]) {
      for (tap[1] = 0; tap[1] < sizes.filter[1]; ++tap[1]) {
        const Index<3> from = sizes.tap(first_axes<3>(at), tap);
        if (!sizes.is_inside(from)) continue;
        total = Reduction::combine(total, load_anywhere<W>(x, join(from, Index<1>{at[3]})));
        ++count;
      }
    }
    return total;
  }
};

template <class X>
struct WindowMaximum {
  Window<X> window;

  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    std::int64_t count = 0;
    return window.template reduce<Max, W>(at, count);
  }
};

template <class X>
struct WindowAverage {
  Window<X> window;
  bool count_include_pad;

  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    using T = source_lane_t<X, 4>;
    std::int64_t count = 0;
    const auto total = window.template reduce<Sum, W>(at, count);
    if (count_include_pad) count = window.sizes.filter[0] * window.sizes.filter[1];
    return total / Vec<T, W>(static_cast<T>(count));
  }
};

template <class X>
Window<X> window_of(const X& x, const Index<2>& window, const Index<2>& strides, const Index<4>& pads,
                    const Index<2>& dilations) {
  return {x, convolution_shape(x.shape(), window, x.shape()[3], strides, pads, dilations)};
}

}  // namespace detail

// out[n, i, j, c] = the greatest x[n, i * strides[0] + h * dilations[0] - pads[0], j * strides[1] + w * dilations[1] -
// pads[1], c] over h < window[0] and w < window[1] that lies in the image. NaN where one is NaN; -inf (integers: the
// least value) where none does. x: [N, H, W, C]; out: [N, OH, OW, C]. pads: rows above, columns left, rows below,
// columns right. A prologue on x is evaluated for each tap anew.
template <Source<4> X, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(max_pool2d)
KGEN_EVALUATED(x, "(window[0] + strides[0] - 1) / strides[0] * ((window[1] + strides[1] - 1) / strides[1])")
void max_pool2d(const X& x, Index<2> window, Index<2> strides, Index<4> pads, Index<2> dilations, const Out& out,
                Stream stream = {})
requires Number<source_lane_t<X, 4>>
{
  const detail::WindowMaximum<X> source{detail::window_of(x, window, strides, pads, dilations)};
  copy(source.window.shape(), source, out, stream);
}

// The same with the average of what lies in the image, accumulated in f32 (f64 for f64); NaN where nothing does.
// count_include_pad: the sum over as many as the window has, of which what lies outside counts as 0.
template <Source<4> X, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(average_pool2d)
KGEN_EVALUATED(x, "(window[0] + strides[0] - 1) / strides[0] * ((window[1] + strides[1] - 1) / strides[1])")
void average_pool2d(const X& x, Index<2> window, Index<2> strides, Index<4> pads, Index<2> dilations,
                    bool count_include_pad, const Out& out, Stream stream = {})
requires Float<source_lane_t<X, 4>>
{
  const detail::WindowAverage<X> source{detail::window_of(x, window, strides, pads, dilations), count_include_pad};
  copy(source.window.shape(), source, out, stream);
}

}  // namespace kgen
