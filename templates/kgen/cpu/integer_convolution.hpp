// Convolutions of bytes (kgen/integer_convolution.hpp): convolution.hpp's, of images and filters whose channels are fours
// (quads.hpp), the last of which is filled up. What was not subtracted yet of bytes is taken from the sums, as
// integer_matmul.hpp says; since what stands around an image is its zero point, all positions have the same taken.
#pragma once

#include "kgen/cpu/convolution.hpp"
#include "kgen/cpu/integer_matmul.hpp"

namespace kgen::cpu {

// Filters [KH, KW, C, O] as a matrix [KH * KW * channels, O], with zeros for the channels from C on: a multiple of 4.
template <class F>
struct FilterBytes {
  using Byte = source_lane_t<F, 4>;
  F filters;
  std::int64_t channels;

  Index<2> shape() const {
    const Index<4> extents = filters.shape();
    return {extents[0] * extents[1] * channels, extents[3]};
  }
  template <int W>
  Vec<Byte, W> load(Index<2> at) const {
    const Index<4> extents = filters.shape();
    const std::int64_t tap = at[0] / channels, channel = at[0] % channels;
    if (channel >= extents[2]) return Vec<Byte, W>(static_cast<Byte>(turned_on_right<Byte>));
    return load_anywhere<W>(filters, Index<4>{tap / extents[1], tap % extents[1], channel, at[1]});
  }
};

template <class F, class Zero>
void pack_filter_bytes(const F& filters, const Zero& zero, const View<std::int8_t, 3>& panels, Stream stream) {
  const std::int64_t channels = 4 * quads_of(filters.shape()[2]);
  pack_bytes_to(reinterpret_cast<Quad*>(panels.data()), FilterBytes<F>{filters, channels}, zero, stream);
}

// An image of bytes as one of fours, around which its zero point stands.
template <class X>
struct QuadImage {
  using Byte = source_lane_t<X, 4>;
  X x;
  Quad outside;

  QuadImage(const X& x, std::int32_t zero) : x(x) {
    const auto byte = static_cast<std::uint8_t>(static_cast<std::uint8_t>(zero) ^ turned_on_left<Byte>);
    std::memset(&outside, byte, sizeof(outside));
  }
  Index<4> shape() const {
    Index<4> shape = x.shape();
    shape[3] = quads_of(shape[3]);
    return shape;
  }
  template <int W>
  Vec<Quad, W> load(Index<4> at) const {
    alignas(64) std::uint8_t bytes[4 * W] = {};
    const std::int64_t channels = x.shape()[3] - 4 * at[3];
    at[3] *= 4;
    const auto step = [&]<int V>(std::int64_t i) KGEN_LAMBDA {
      const auto lanes = bit_cast<std::uint8_t>(load_anywhere<V>(x, moved(at, i)));
      store_lanes(bytes + i, lanes ^ Vec<std::uint8_t, V>(turned_on_left<Byte>));
    };
    if (channels >= 4 * W) {
      constexpr int together = is_view<X> ? 4 * W : W;  // what a prologue computes of floats fills so many registers
      for (int i = 0; i < 4 * W; i += together) step.template operator()<together>(i);
    } else {
      for (std::int64_t i = 0; i < channels; ++i) step.template operator()<1>(i);
    }
    Vec<Quad, W> quads;
    std::memcpy(&quads, bytes, sizeof(quads));
    return quads;
  }
};

template <class T, class X>
T outside_of(const QuadImage<X>& image) {
  return image.outside;
}

// Takes sums of a' b', and gives `out` those of (a - a_zero) (b - b_zero).
template <class X, class Out>
struct FromFilterZeros {
  const X& x;
  const ConvolutionShape<2>& sizes;
  const Quad* panels;
  std::int32_t zero;
  bool has_right_zeros;
  Out out;

  template <int W>
  KGEN_FN Vec<std::int32_t, W> behind(std::int64_t row, std::int64_t column) const {
    const std::int64_t quads = sizes.depth(), panel = column / panel_columns * (quads + 2) + quads + row;
    return bit_cast<std::int32_t>(load_lanes<W>(panels + panel * panel_columns + column % panel_columns));
  }
  template <int W>
  KGEN_FN void operator()(const Index<4>& at, const Vec<NarrowSum, W>& sums) const {
    (*this)(at, bit_cast<std::int32_t>(sums));
  }
  template <int W>
  KGEN_FN void operator()(const Index<4>& at, Vec<std::int32_t, W> sums) const {
    static_assert(W <= panel_columns);
    using Byte = source_lane_t<X, 4>;
    sums = sums - behind<W>(0, at[3]) * Vec<std::int32_t, W>(zero + added_on_left<Byte>);
    if (has_right_zeros) sums = sums - zeros_of(behind<W>(1, at[3])) * Vec<std::int32_t, W>(sum_of_patch(at));
    store_to(out, at, sums);
  }

 private:
  // Of a - a_zero, once more for each register of columns: quick enough where few filters have zero points, as of i8.
  std::int32_t sum_of_patch(const Index<4>& at) const {
    const std::int64_t channels = x.shape()[3];
    std::int32_t sum = 0;
    Index<2> tap{};
    do {
      const Index<3> from = sizes.tap(first_axes<3>(at), tap);
      if (!sizes.is_inside(from)) continue;
      for_each_lane(0, channels, [&]<int W>(std::int64_t c) KGEN_LAMBDA {
        sum += sum_of(convert<std::int32_t>(load_anywhere<W>(x, join(from, Index<1>{c}))));
      });
      sum -= static_cast<std::int32_t>(channels) * zero;
    } while (advance(tap, 2, Index<2>{}, sizes.filter));
    return sum;
  }
};

template <int TileM, int TileN, class X, class Out>
void packed_integer_convolution(const X& x, const View<const std::int8_t, 3>& panels, std::int32_t zero, Index<2> taps,
                                Index<2> strides, Index<4> pads, Index<2> dilations, std::int64_t filters,
                                const Out& out, Stream stream) {
  Index<4> shape = x.shape();
  shape[3] = quads_of(shape[3]);
  const ConvolutionShape<2> sizes = convolution_shape<2>(shape, taps, shape[3], strides, pads, dilations);
  const auto* data = reinterpret_cast<const Quad*>(panels.data());
  const bool right_zeros = has_right_zeros(data, panels.extent(0), sizes.depth());
  const ResultMatrix<FromFilterZeros<X, Out>, 2> result{{x, sizes, data, zero, right_zeros, out}, sizes, 0};
  const Patches<QuadImage<X>, 2> patches{QuadImage<X>(x, zero), sizes, 0};
  with_sums(data, panels.extent(0), sizes.depth(), [&]<class Sum>() {
    convolve<TileM, TileN, Quad, Sum>(patches, PackedFilters<Quad>{data, sizes.depth() + 2}, filters, result, stream);
  });
}

}  // namespace kgen::cpu
