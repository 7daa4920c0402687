// A convolution as a product of matrices: the image as the matrix of its patches (im2col), the filters as a matrix, and
// the result's positions as rows. Nothing is copied: each is a map from a matrix to the tensor behind it.
//
//   patches  [N * OH * OW, KH * KW * G]   what each position of the result sees, tap by tap
//   filters  [KH * KW * G, channels]      of one group
//   result   [N * OH * OW, channels]      of one group
#pragma once

#include <cassert>

#include "kgen/view.hpp"

namespace kgen {

// The sizes of a convolution. Axes are (rows, columns).
struct ConvolutionShape {
  std::int64_t images;
  Index<2> image, filter, result;
  Index<2> strides, before, dilations;  // before: rows above and columns left of the image that count as 0
  std::int64_t channels;                // of one group

  KGEN_FN constexpr std::int64_t positions() const { return images * result[0] * result[1]; }
  KGEN_FN constexpr std::int64_t depth() const { return filter[0] * filter[1] * channels; }
  // The position [image, row, column] that row `m` of the matrices stands for.
  KGEN_FN constexpr Index<3> position(std::int64_t m) const {
    return unflatten(m, Index<3>{images, result[0], result[1]});
  }
  // Where tap `at` of the filter falls, seen from a position of the result.
  KGEN_FN constexpr Index<3> tap(const Index<3>& position, const Index<2>& at) const {
    return {position[0], position[1] * strides[0] - before[0] + at[0] * dilations[0],
            position[2] * strides[1] - before[1] + at[1] * dilations[1]};
  }
  KGEN_FN constexpr bool is_inside(const Index<3>& at) const {
    return at[1] >= 0 && at[1] < image[0] && at[2] >= 0 && at[2] < image[1];
  }
};

// image: [N, H, W, C]; taps of a filter, down and across; pads: rows above, columns left, rows below, columns right.
inline ConvolutionShape convolution_shape(const Index<4>& image, const Index<2>& taps, std::int64_t channels,
                                          const Index<2>& strides, const Index<4>& pads, const Index<2>& dilations) {
  ConvolutionShape sizes{image[0], {image[1], image[2]}, taps, {}, strides, {pads[0], pads[1]}, dilations, channels};
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = dilations[axis] * (taps[axis] - 1) + 1;
    const std::int64_t padded = sizes.image[axis] + pads[axis] + pads[axis + 2];
    assert(taps[axis] >= 1 && strides[axis] >= 1 && dilations[axis] >= 1 && reach <= padded);
    sizes.result[axis] = (padded - reach) / strides[axis] + 1;
  }
  return sizes;
}

// The patches of the channels from first_channel on. What lies outside of the image is 0, whatever a prologue makes of 0.
template <class X>
struct Patches {
  X x;  // [N, H, W, C]
  ConvolutionShape sizes;
  std::int64_t first_channel;

  KGEN_FN Index<2> shape() const { return {sizes.positions(), sizes.depth()}; }

  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    using T = source_lane_t<X, 4>;
    const Index<3> tap = unflatten(at[1], Index<3>{sizes.filter[0], sizes.filter[1], sizes.channels});
    if constexpr (W > 1) {
      if (tap[2] + W > sizes.channels) {  // lanes of several taps
        T lanes[W];
        KGEN_UNROLL
        for (int i = 0; i < W; ++i) lanes[i] = load<1>(Index<2>{at[0], at[1] + i}).data;
        return load_lanes<W>(lanes);
      }
    }
    const Index<3> from = sizes.tap(sizes.position(at[0]), Index<2>{tap[0], tap[1]});
    if (!sizes.is_inside(from)) return Vec<T, W>(T(0));
    return load_anywhere<W>(x, join(from, Index<1>{first_channel + tap[2]}));
  }

  // body(k, length, at, inside) for each stretch of row m from column `begin` to `end` that lies along x's last axis:
  // columns k to k + length are x from position `at` on, or 0 where that is not inside.
  template <class Body>
  KGEN_FN void for_each_run(std::int64_t m, std::int64_t begin, std::int64_t end, const Body& body) const {
    const Index<3> position = sizes.position(m);
    Index<3> tap = unflatten(begin, Index<3>{sizes.filter[0], sizes.filter[1], sizes.channels});
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t left = sizes.channels - tap[2], length = left < end - k ? left : end - k;
      const Index<3> from = sizes.tap(position, Index<2>{tap[0], tap[1]});
      body(k, length, join(from, Index<1>{first_channel + tap[2]}), sizes.is_inside(from));
      k += length;
      tap[2] = 0;
      if (++tap[1] == sizes.filter[1]) tap[1] = 0, ++tap[0];
    }
  }
};

// The filters from first_channel on.
template <class F>
struct FilterMatrix {
  F tensor;  // [KH, KW, G, O]
  ConvolutionShape sizes;
  std::int64_t channels;  // of one group's result
  std::int64_t first_channel;

  KGEN_FN Index<2> shape() const { return {sizes.depth(), channels}; }
  KGEN_FN Index<4> position(Index<2> at) const {
    const Index<3> tap = unflatten(at[0], Index<3>{sizes.filter[0], sizes.filter[1], sizes.channels});
    return join(tap, Index<1>{first_channel + at[1]});
  }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return load_anywhere<W>(tensor, position(at));
  }
};

// A tensor with an axis of extent 1 before axis `Axis` of its others: a source or a sink, as what stands behind it.
template <int Axis, int R, class S>
struct WithAxis {
  S tensor;

  KGEN_FN Index<R + 1> shape() const {
    const Index<R> extents = tensor.shape();
    return join(join(first_axes<Axis>(extents), Index<1>{1}), last_axes<R - Axis>(extents));
  }
  template <int W>
  KGEN_FN auto load(Index<R + 1> at) const {
    return tensor.template load<W>(without_axis(at));
  }
  template <class T, int W>
  KGEN_FN void operator()(Index<R + 1> at, const Vec<T, W>& lanes) const {
    store_to(tensor, without_axis(at), lanes);
  }
  static KGEN_FN Index<R> without_axis(const Index<R + 1>& at) {
    return join(first_axes<Axis>(at), last_axes<R - Axis>(at));
  }
};

// The result from first_channel on.
template <class Out>
struct ResultMatrix {
  Out tensor;  // [N, OH, OW, O]
  ConvolutionShape sizes;
  std::int64_t first_channel;

  KGEN_FN Index<4> position(Index<2> at) const {
    return join(sizes.position(at[0]), Index<1>{first_channel + at[1]});
  }
  template <class T, int W>
  KGEN_FN void operator()(Index<2> at, const Vec<T, W>& lanes) const {
    store_anywhere(tensor, position(at), lanes);
  }
};

}  // namespace kgen
