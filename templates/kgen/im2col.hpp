// A convolution as a product of matrices: the image as the matrix of its patches (im2col), the filters as a matrix, and
// the result's positions as rows. Nothing is copied: each is a map from a matrix to the tensor behind it. Images have
// A axes between the first, their number, and the last, their channels: rows and columns, or planes before these.
//
//   patches  [N * OH * OW, KH * KW * G]   what each position of the result sees, tap by tap
//   filters  [KH * KW * G, channels]      of one group
//   result   [N * OH * OW, channels]      of one group
#pragma once

#include <cassert>

#include "kgen/view.hpp"

namespace kgen {

// The sizes of a convolution.
template <int A>
struct ConvolutionShape {
  std::int64_t images;
  Index<A> image, filter, result;
  Index<A> strides, before, dilations;  // before: what counts as 0 ahead of the image
  std::int64_t channels;                // of one group

  KGEN_FN constexpr std::int64_t positions() const { return images * element_count(result); }
  KGEN_FN constexpr std::int64_t depth() const { return element_count(filter) * channels; }
  // The position [image, row, column] that row `m` of the matrices stands for.
  KGEN_FN constexpr Index<A + 1> position(std::int64_t m) const { return unflatten(m, join(Index<1>{images}, result)); }
  // The tap and its channel that column `k` of the patches stands for.
  KGEN_FN constexpr Index<A + 1> tap_of(std::int64_t k) const { return unflatten(k, join(filter, Index<1>{channels})); }
  // Where tap `at` of the filter falls, seen from a position of the result.
  KGEN_FN constexpr Index<A + 1> tap(const Index<A + 1>& position, const Index<A>& at) const {
    Index<A + 1> from{position[0]};
    for (int axis = 0; axis < A; ++axis) {
      from[axis + 1] = position[axis + 1] * strides[axis] - before[axis] + at[axis] * dilations[axis];
    }
    return from;
  }
  KGEN_FN constexpr bool is_inside(const Index<A + 1>& at) const {
    bool inside = true;
    for (int axis = 0; axis < A; ++axis) inside = inside && at[axis + 1] >= 0 && at[axis + 1] < image[axis];
    return inside;
  }
};

// image: [N, H, W, C]; taps of a filter along each axis; pads: rows above, columns left, rows below, columns right.
template <int A>
ConvolutionShape<A> convolution_shape(const Index<A + 2>& image, const Index<A>& taps, std::int64_t channels,
                                      const Index<A>& strides, const Index<2 * A>& pads, const Index<A>& dilations) {
  ConvolutionShape<A> sizes{image[0], {}, taps, {}, strides, first_axes<A>(pads), dilations, channels};
  for (int axis = 0; axis < A; ++axis) {
    sizes.image[axis] = image[axis + 1];
    const std::int64_t reach = dilations[axis] * (taps[axis] - 1) + 1;
    const std::int64_t padded = sizes.image[axis] + pads[axis] + pads[axis + A];
    assert(taps[axis] >= 1 && strides[axis] >= 1 && dilations[axis] >= 1 && reach <= padded);
    sizes.result[axis] = (padded - reach) / strides[axis] + 1;
  }
  return sizes;
}

// The patches of the channels from first_channel on. What lies outside of the image is 0, whatever a prologue makes of 0.
template <class X, int A>
struct Patches {
  X x;  // [N, H, W, C]
  ConvolutionShape<A> sizes;
  std::int64_t first_channel;

  KGEN_FN Index<2> shape() const { return {sizes.positions(), sizes.depth()}; }

  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    using T = source_lane_t<X, A + 2>;
    const Index<A + 1> tap = sizes.tap_of(at[1]);
    if constexpr (W > 1) {
      if (tap[A] + W > sizes.channels) {  // lanes of several taps
        T lanes[W];
        KGEN_UNROLL
        for (int i = 0; i < W; ++i) lanes[i] = load<1>(Index<2>{at[0], at[1] + i}).data;
        return load_lanes<W>(lanes);
      }
    }
    const Index<A + 1> from = sizes.tap(sizes.position(at[0]), first_axes<A>(tap));
    if (!sizes.is_inside(from)) return Vec<T, W>(T(0));
    return load_anywhere<W>(x, join(from, Index<1>{first_channel + tap[A]}));
  }

  // body(k, length, at, inside) for each stretch of row m from column `begin` to `end` that lies along x's last axis:
  // columns k to k + length are x from position `at` on, or 0 where that is not inside.
  template <class Body>
  KGEN_FN void for_each_run(std::int64_t m, std::int64_t begin, std::int64_t end, const Body& body) const {
    const Index<A + 1> position = sizes.position(m);
    Index<A + 1> tap = sizes.tap_of(begin);
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t left = sizes.channels - tap[A], length = left < end - k ? left : end - k;
      const Index<A + 1> from = sizes.tap(position, first_axes<A>(tap));
      body(k, length, join(from, Index<1>{first_channel + tap[A]}), sizes.is_inside(from));
      k += length;
      tap[A] = 0;
      advance(tap, A, Index<A + 1>{}, join(sizes.filter, Index<1>{}));
    }
  }
};

// The filters from first_channel on.
template <class F, int A>
struct FilterMatrix {
  F tensor;  // [KH, KW, G, O]
  ConvolutionShape<A> sizes;
  std::int64_t channels;  // of one group's result
  std::int64_t first_channel;

  KGEN_FN Index<2> shape() const { return {sizes.depth(), channels}; }
  KGEN_FN Index<A + 2> position(Index<2> at) const {
    return join(sizes.tap_of(at[0]), Index<1>{first_channel + at[1]});
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
// The same of anything; of a View, a View.
template <int Axis, int R, class S>
KGEN_FN auto with_axis(const S& tensor) {
  if constexpr (is_view<S>) {
    return tensor.template unsqueeze<Axis>();
  } else {
    return WithAxis<Axis, R, S>{tensor};
  }
}

// The result from first_channel on.
template <class Out, int A>
struct ResultMatrix {
  Out tensor;  // [N, OH, OW, O]
  ConvolutionShape<A> sizes;
  std::int64_t first_channel;

  KGEN_FN Index<A + 2> position(Index<2> at) const {
    return join(sizes.position(at[0]), Index<1>{first_channel + at[1]});
  }
  template <class T, int W>
  KGEN_FN void operator()(Index<2> at, const Vec<T, W>& lanes) const {
    store_anywhere(tensor, position(at), lanes);
  }
};

}  // namespace kgen
