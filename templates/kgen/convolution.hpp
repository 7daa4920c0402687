// Convolutions over the rows and columns of images, channels last.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/im2col.hpp"
#include "kgen/introspect.hpp"
#include "kgen/matmul.hpp"

namespace kgen {

namespace detail {

template <class X, class F>
ConvolutionShape convolution_shape(const X& x, const F& filters, const Index<2>& strides, const Index<4>& pads,
                                   const Index<2>& dilations) {
  const Index<4> filter = filters.shape();
  return kgen::convolution_shape(x.shape(), {filter[0], filter[1]}, filter[2], strides, pads, dilations);
}

}  // namespace detail

// out[n, i, j, o] = sum over kh, kw and c of filters[kh, kw, c, o] * x[n, i * strides[0] + kh * dilations[0] - pads[0],
// j * strides[1] + kw * dilations[1] - pads[1], g * G + c], accumulated in f32 (f64 for f64).
// x: [N, H, W, C]; filters: [KH, KW, G, O] with G = C / group; out: [N, OH, OW, O]. Channels and filters are in `group`
// groups: filter o belongs to group g = o / (O / group). pads: rows above, columns left, rows below, columns right that
// count as 0 (after the prologue on x). A prologue on x is evaluated for each tap anew, else as often as matmul does,
// of which this is one for each group. TileM and TileN: as matmul's.
template <int TileM = 96, int TileN = 256, Source<4> X, Source<4> F, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(conv2d)
KGEN_EVALUATED(x, "(KH + strides[0] - 1) / strides[0] * ((KW + strides[1] - 1) / strides[1]) * ((O / group + 63) / 64)",
               "target == gpu")
KGEN_EVALUATED(x, "(KH + strides[0] - 1) / strides[0] * ((KW + strides[1] - 1) / strides[1])")
KGEN_EVALUATED(filters, "(elements(out) / O + 63) / 64", "target == gpu")
void conv2d(const X& x, const F& filters, Index<2> strides, Index<4> pads, Index<2> dilations, std::int64_t group,
            const Out& out, Stream stream = {})
requires Float<source_lane_t<X, 4>> && Float<source_lane_t<F, 4>> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  const ConvolutionShape sizes = detail::convolution_shape(x, filters, strides, pads, dilations);
  const std::int64_t channels = filters.shape()[3] / group;  // of the result, in each group
  assert(x.shape()[3] == sizes.channels * group && filters.shape()[3] == channels * group);
  for (std::int64_t g = 0; g < group; ++g) {
    const Patches<X> patches{x, sizes, g * sizes.channels};
    const FilterMatrix<F> matrix{filters, sizes, channels, g * channels};
    matmul<TileM, TileN>(patches, matrix, ResultMatrix<Out>{out, sizes, g * channels}, stream);
  }
}

// The same along lines: out[n, i, o] = sum over k and c of filters[k, c, o] * x[n, i * stride + k * dilation - pads[0],
// g * G + c]. x: [N, L, C]; filters: [K, G, O]; out: [N, M, O].
template <int TileM = 96, int TileN = 256, Source<3> X, Source<3> F, Sink<source_lane_t<X, 3>, 3> Out>
KGEN_KERNEL(conv1d)
KGEN_EVALUATED(x, "(K + stride - 1) / stride * ((O / group + 63) / 64)", "target == gpu")
KGEN_EVALUATED(x, "(K + stride - 1) / stride")
KGEN_EVALUATED(filters, "(elements(out) / O + 63) / 64", "target == gpu")
void conv1d(const X& x, const F& filters, std::int64_t stride, Index<2> pads, std::int64_t dilation, std::int64_t group,
            const Out& out, Stream stream = {})
requires Float<source_lane_t<X, 3>> && Float<source_lane_t<F, 3>> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  conv2d<TileM, TileN>(WithAxis<1, 3, X>{x}, WithAxis<0, 3, F>{filters}, {1, stride}, {0, pads[0], 0, pads[1]},
                       {1, dilation}, group, WithAxis<1, 3, Out>{out}, stream);
}

namespace detail {

// Lanes along the channels, each of which is an image of its own.
template <class X, class F>
struct DepthwiseSum {
  X x;
  F filters;
  ConvolutionShape sizes;

  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    using T = source_lane_t<X, 4>;
    Vec<T, W> sum(T(0));
    Index<2> tap{};
    for (tap[0] = 0; tap[0] < sizes.filter[0]; ++tap[0]) {
      for (tap[1] = 0; tap[1] < sizes.filter[1]; ++tap[1]) {
        const Index<3> from = sizes.tap(first_axes<3>(at), tap);
        if (!sizes.is_inside(from)) continue;
        const auto filter = load_anywhere<W>(filters, Index<4>{tap[0], tap[1], 0, at[3]});
        sum = multiply_add(load_anywhere<W>(x, join(from, Index<1>{at[3]})), convert<T>(filter), sum);
      }
    }
    return sum;
  }
};

}  // namespace detail

// The same where every channel is a group of one filter: out[..., c] of x[..., c] and filters[..., 0, c] alone.
template <Source<4> X, Source<4> F, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(conv2d, "G == 1 && O == group")
KGEN_EVALUATED(x, "(KH + strides[0] - 1) / strides[0] * ((KW + strides[1] - 1) / strides[1])")
KGEN_EVALUATED(filters, "elements(out) / O")
void depthwise_conv2d(const X& x, const F& filters, Index<2> strides, Index<4> pads, Index<2> dilations, const Out& out,
                      Stream stream = {})
requires Float<source_lane_t<X, 4>> && Float<source_lane_t<F, 4>>
{
  const ConvolutionShape sizes = detail::convolution_shape(x, filters, strides, pads, dilations);
  const Index<4> shape = join(Index<3>{sizes.images, sizes.result[0], sizes.result[1]}, Index<1>{x.shape()[3]});
  copy(shape, detail::DepthwiseSum<X, F>{x, filters, sizes}, out, stream);
}

}  // namespace kgen
