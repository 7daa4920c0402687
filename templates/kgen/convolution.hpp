// Convolutions over images, channels last: along lines, over rows and columns, and over planes, rows and columns.
#pragma once

#include "kgen/elementwise.hpp"
#if defined(KGEN_GPU)
#include "kgen/gpu/convolution.hpp"
#else
#include "kgen/cpu/channels.hpp"
#include "kgen/cpu/convolution.hpp"
#include "kgen/cpu/depthwise.hpp"
#include "kgen/cpu/grouped.hpp"
#endif
#include "kgen/im2col.hpp"
#include "kgen/introspect.hpp"
#include "kgen/known_product.hpp"
#include "kgen/matmul.hpp"

namespace kgen {

namespace detail {

template <int A, class X, class F>
ConvolutionShape<A> convolution_shape(const X& x, const F& filters, const Index<A>& strides, const Index<2 * A>& pads,
                                      const Index<A>& dilations) {
  const Index<A + 2> filter = filters.shape();
  return kgen::convolution_shape<A>(x.shape(), first_axes<A>(filter), filter[A], strides, pads, dilations);
}

// By Hopper's tensor cores where operands and device allow, else as a product of matrices for each group; on the CPU
// without a matrix of patches.
template <int A, class Known, int TileM, int TileN, class X, class F, class Out>
void convolution(const X& x, const F& filters, const Index<A>& strides, const Index<2 * A>& pads,
                 const Index<A>& dilations, std::int64_t group, const Out& out, Stream stream) {
  const ConvolutionShape<A> sizes = convolution_shape<A>(x, filters, strides, pads, dilations);
  const std::int64_t channels = filters.shape()[A + 1] / group;  // of the result, in each group
  assert(x.shape()[A + 1] == sizes.channels * group && filters.shape()[A + 1] == channels * group);
#if defined(KGEN_WARPGROUPS)
  if constexpr (gpu::has_tensor_core_convolution<X, F>) {
    if (gpu::tensor_core_convolution<Known>(x, filters, sizes, group, out, stream)) return;
  }
#endif
#if !defined(KGEN_GPU)
  if (cpu::has_channels_apart(x)) {
    return cpu::with_channels_together(x, stream, [&](const auto& image) {
      convolution<A, Known, TileM, TileN>(image, filters, strides, pads, dilations, group, out, stream);
    });
  }
  if (group > 1 && cpu::grouped_convolution(x, filters, sizes, channels, out, stream)) return;
#endif
  for (std::int64_t g = 0; g < group; ++g) {
    const Patches<X, A> patches{x, sizes, g * sizes.channels};
    const FilterMatrix<F, A> matrix{filters, sizes, channels, g * channels};
    const ResultMatrix<Out, A> result{out, sizes, g * channels};
#if defined(KGEN_GPU)
    matmul<any_layout, any_rows, TileM, TileN>(patches, matrix, result, stream);
#else
    cpu::convolution<TileM, TileN>(patches, matrix, result, stream);
#endif
  }
}

}  // namespace detail

// out[n, i, j, o] = sum over kh, kw and c of filters[kh, kw, c, o] * x[n, i * strides[0] + kh * dilations[0] - pads[0],
// j * strides[1] + kw * dilations[1] - pads[1], g * G + c], accumulated in f32 (f64 for f64; integers wrap).
// x: [N, H, W, C]; filters: [KH, KW, G, O] with G = C / group; out: [N, OH, OW, O]. Channels and filters are in `group`
// groups: filter o belongs to group g = o / (O / group). pads: rows above, columns left, rows below, columns right that
// count as 0 (after the prologue on x). A prologue on x is evaluated for each tap anew, else as often as matmul does,
// of which this is one for each group. Hopper's tensor cores multiply images and filters in memory, all groups in one
// launch. Filters, Channels: what is known of the filters (kgen/known_product.hpp), which lie as matrices [channels,
// columns] of each tap. TileM and TileN: as matmul's.
template <int Filters = any_layout, int Channels = any_channels, int TileM = 96, int TileN = 256, Source<4> X,
          Source<4> F, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(conv2d)
KGEN_LAYOUT(Filters, filters, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_EVALUATED(x, "(KH + strides[0] - 1) / strides[0] * ((KW + strides[1] - 1) / strides[1]) * ((O / group + 63) / 64)",
               "target == gpu")
KGEN_EVALUATED(x, "(KH + strides[0] - 1) / strides[0] * ((KW + strides[1] - 1) / strides[1])")
KGEN_EVALUATED(filters, "(elements(out) / O + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(x, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_IN_MEMORY(filters, "architecture == sm_90a && (T == bf16 || T == f16)")
void conv2d(const X& x, const F& filters, Index<2> strides, Index<4> pads, Index<2> dilations, std::int64_t group,
            const Out& out, Stream stream = {})
requires Number<source_lane_t<X, 4>> && Number<source_lane_t<F, 4>> &&
         Allowed<Filters, any_layout, row_major, column_major> && Allowed<Channels, any_channels, many_channels> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  using Known = KnownConvolution<Filters, Channels>;
  detail::convolution<2, Known, TileM, TileN>(x, filters, strides, pads, dilations, group, out, stream);
}

// The same over planes, rows and columns. x: [N, D, H, W, C]; filters: [KD, KH, KW, G, O]; out: [N, OD, OH, OW, O];
// pads: planes in front, rows above, columns left, then planes behind, rows below, columns right.
template <int Filters = any_layout, int Channels = any_channels, int TileM = 96, int TileN = 256, Source<5> X,
          Source<5> F, Sink<source_lane_t<X, 5>, 5> Out>
KGEN_KERNEL(conv3d)
KGEN_LAYOUT(Filters, filters, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_EVALUATED(x, "(KD + strides[0] - 1) / strides[0] * ((KH + strides[1] - 1) / strides[1]) * "
                  "((KW + strides[2] - 1) / strides[2]) * ((O / group + 63) / 64)",
               "target == gpu")
KGEN_EVALUATED(x, "(KD + strides[0] - 1) / strides[0] * ((KH + strides[1] - 1) / strides[1]) * "
                  "((KW + strides[2] - 1) / strides[2])")
KGEN_EVALUATED(filters, "(elements(out) / O + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(x, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_IN_MEMORY(filters, "architecture == sm_90a && (T == bf16 || T == f16)")
void conv3d(const X& x, const F& filters, Index<3> strides, Index<6> pads, Index<3> dilations, std::int64_t group,
            const Out& out, Stream stream = {})
requires Number<source_lane_t<X, 5>> && Number<source_lane_t<F, 5>> &&
         Allowed<Filters, any_layout, row_major, column_major> && Allowed<Channels, any_channels, many_channels> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  using Known = KnownConvolution<Filters, Channels>;
  detail::convolution<3, Known, TileM, TileN>(x, filters, strides, pads, dilations, group, out, stream);
}

// The same along lines: out[n, i, o] = sum over k and c of filters[k, c, o] * x[n, i * stride + k * dilation - pads[0],
// g * G + c]. x: [N, L, C]; filters: [K, G, O]; out: [N, M, O].
template <int Filters = any_layout, int Channels = any_channels, int TileM = 96, int TileN = 256, Source<3> X,
          Source<3> F, Sink<source_lane_t<X, 3>, 3> Out>
KGEN_KERNEL(conv1d)
KGEN_LAYOUT(Filters, filters, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_EVALUATED(x, "(K + stride - 1) / stride * ((O / group + 63) / 64)", "target == gpu")
KGEN_EVALUATED(x, "(K + stride - 1) / stride")
KGEN_EVALUATED(filters, "(elements(out) / O + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(x, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_IN_MEMORY(filters, "architecture == sm_90a && (T == bf16 || T == f16)")
void conv1d(const X& x, const F& filters, std::int64_t stride, Index<2> pads, std::int64_t dilation, std::int64_t group,
            const Out& out, Stream stream = {})
requires Number<source_lane_t<X, 3>> && Number<source_lane_t<F, 3>> &&
         Allowed<Filters, any_layout, row_major, column_major> && Allowed<Channels, any_channels, many_channels> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  conv2d<Filters, Channels, TileM, TileN>(with_axis<1, 3>(x), with_axis<0, 3>(filters), {1, stride},
                                          {0, pads[0], 0, pads[1]}, {1, dilation}, group, WithAxis<1, 3, Out>{out},
                                          stream);
}

namespace detail {

// Lanes along the channels, each of which is an image of its own.
template <class X, class F, int A>
struct DepthwiseSum {
  X x;
  F filters;
  ConvolutionShape<A> sizes;

  template <int W>
  KGEN_FN auto load(Index<A + 2> at) const {
    using T = source_lane_t<X, A + 2>;
    Vec<T, W> sum(T(0));
    Index<A> tap{};
    do {
      const Index<A + 1> from = sizes.tap(first_axes<A + 1>(at), tap);
      if (!sizes.is_inside(from)) continue;
      const auto filter = load_anywhere<W>(filters, join(tap, Index<2>{0, at[A + 1]}));
      sum = multiply_add(load_anywhere<W>(x, join(from, Index<1>{at[A + 1]})), convert<T>(filter), sum);
    } while (advance(tap, A, Index<A>{}, sizes.filter));
    return sum;
  }
};

template <int A, class X, class F, class Out>
void depthwise_convolution(const X& x, const F& filters, const Index<A>& strides, const Index<2 * A>& pads,
                           const Index<A>& dilations, const Out& out, Stream stream) {
  const ConvolutionShape<A> sizes = convolution_shape<A>(x, filters, strides, pads, dilations);
#if !defined(KGEN_GPU)
  if (cpu::has_channels_apart(x)) {
    return cpu::with_channels_together(x, stream, [&](const auto& image) {
      depthwise_convolution<A>(image, filters, strides, pads, dilations, out, stream);
    });
  }
#endif
  if (target::depthwise_convolution(x, filters, sizes, out, stream)) return;
  const Index<A + 2> shape = join(join(Index<1>{sizes.images}, sizes.result), Index<1>{x.shape()[A + 1]});
  copy(shape, DepthwiseSum<X, F, A>{x, filters, sizes}, out, stream);
}

}  // namespace detail

// The same where every channel is a group of one filter: out[..., c] of x[..., c] and filters[..., 0, c] alone.
template <Source<4> X, Source<4> F, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(conv2d, "G == 1 && O == group")
KGEN_EVALUATED(x, "(KH + strides[0] - 1) / strides[0] * ((KW + strides[1] - 1) / strides[1])")
KGEN_EVALUATED(filters, "elements(out) / O")
void depthwise_conv2d(const X& x, const F& filters, Index<2> strides, Index<4> pads, Index<2> dilations, const Out& out,
                      Stream stream = {})
requires Number<source_lane_t<X, 4>> && Number<source_lane_t<F, 4>>
{
  detail::depthwise_convolution<2>(x, filters, strides, pads, dilations, out, stream);
}

// The same over planes, rows and columns.
template <Source<5> X, Source<5> F, Sink<source_lane_t<X, 5>, 5> Out>
KGEN_KERNEL(conv3d, "G == 1 && O == group")
KGEN_EVALUATED(x, "(KD + strides[0] - 1) / strides[0] * ((KH + strides[1] - 1) / strides[1]) * "
                  "((KW + strides[2] - 1) / strides[2])")
KGEN_EVALUATED(filters, "elements(out) / O")
void depthwise_conv3d(const X& x, const F& filters, Index<3> strides, Index<6> pads, Index<3> dilations, const Out& out,
                      Stream stream = {})
requires Number<source_lane_t<X, 5>> && Number<source_lane_t<F, 5>>
{
  detail::depthwise_convolution<3>(x, filters, strides, pads, dilations, out, stream);
}

}  // namespace kgen
