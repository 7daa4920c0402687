// Convolutions of bytes with sums in i32, on the CPU, by the instructions that it has for them.
#pragma once

#include "kgen/convolution.hpp"
#include "kgen/integer_matmul.hpp"

#if !defined(KGEN_GPU)
#include "kgen/cpu/integer_convolution.hpp"

namespace kgen {

// Filters [KH, KW, C, O] as pack_bytes makes panels of the matrix [KH * KW * 4 * Q, O], with Q = (C + 3) / 4: channels are
// filled up to whole fours with zeros.
//
// filters_zero: broadcast to [O]; panels: [(O + 15) / 16, KH * KW * Q + 2, 64].
template <Source<4> F, BroadcastsTo<1> Zero>
KGEN_KERNEL(pack_filter_bytes, "target == cpu")
void pack_filter_bytes(const F& filters, const Zero& filters_zero, const View<std::int8_t, 3>& panels,
                       Stream stream = {})
requires Byte<source_lane_t<F, 4>> && Byte<view_element_t<Zero>>
{
  const auto zero = detail::zero_point(filters_zero, Index<1>{filters.shape()[3]});
  cpu::pack_filter_bytes(filters, zero, panels, stream);
}

// out[n, i, j, o] = sum over kh, kw and c of (filters[kh, kw, c, o] - filters_zero[o]) * (x[n, i * strides[0] + kh *
// dilations[0] - pads[0], j * strides[1] + kw * dilations[1] - pads[1], c] - x_zero) in i32, which wraps; what is outside of
// x is x_zero. `panels` is of pack_filter_bytes; `taps`: the filters' rows and columns; `padding`: how many filters fewer
// there are than the panels have columns. A prologue on x is evaluated as conv2d does. TileM and TileN: as matmul's.
//
// x: [N, H, W, C]; x_zero: [1]; out: [N, OH, OW, 16 * P - padding].
template <int TileM = 96, int TileN = 256, Source<4> X, Memory<1> Zero, Sink<std::int32_t, 4> Out>
KGEN_KERNEL(packed_integer_conv2d, "target == cpu")
KGEN_TUNED(TileM) KGEN_TUNED(TileN)
KGEN_EVALUATED(x, "(taps[0] + strides[0] - 1) / strides[0] * ((taps[1] + strides[1] - 1) / strides[1])")
void packed_integer_conv2d(const X& x, const View<const std::int8_t, 3>& panels, const Zero& x_zero, Index<2> taps,
                           Index<2> strides, Index<4> pads, Index<2> dilations, std::int64_t padding, const Out& out,
                           Stream stream = {})
requires Byte<source_lane_t<X, 4>> && Byte<view_element_t<Zero>> && Allowed<TileM, 48, 96, 192> &&
         Allowed<TileN, 128, 256, 512>
{
  assert(panels.extent(2) == 64 && panels.is_dense());
  const std::int64_t filters = panels.extent(0) * 16 - padding;
  const std::int32_t zero = convert<std::int32_t>(x_zero.template load<1>(Index<1>{0})).data;
  cpu::with_channels_together(x, stream, [&](const auto& image) {
    cpu::packed_integer_convolution<TileM, TileN>(image, panels, zero, taps, strides, pads, dilations, filters, out,
                                                  stream);
  });
}

}  // namespace kgen
#endif
