// Axes of a View walked as one where their strides do not fit together, so that no merge() can show them so: the heads
// of a slice of a cache, a scale for each channel of each head.
//
//   struct Scaled {
//     Flattened<View<const float, 3>, 1, 2> scale;  // [64] broadcast to [M, 8, 64], walked as [M, 512]
//     Flattened<View<float, 3>, 2, 1> y;            // [B, S, 512] of a larger whole, walked as [B * S, 512]
//     template <int W>
//     KGEN_FN void operator()(Index<2> at, Vec<float, W> c) const {
//       y.store(at, Mul::apply(c, scale.load<W>(at)));
//     }
//   };
#pragma once

#include <cstdint>

#include "kgen/divide.hpp"
#include "kgen/view.hpp"

namespace kgen {

// The axes of a View in runs of Runs... axes, each walked as one axis, in row-major order.
template <class V, int... Runs>
class Flattened {
  static_assert(is_view<V> && (Runs + ... + 0) == V::rank && ((Runs > 0) && ...));
  static constexpr int last = V::rank - 1;

 public:
  using element_type = typename V::element_type;
  using lane_type = typename V::lane_type;
  static constexpr int rank = sizeof...(Runs);

  V view;

  Flattened() = default;
  Flattened(const V& shown) : view(shown) {
    for (int axis = 0; axis <= last; ++axis) {
      if (view.extent(axis) >= limit) fits_ = false;
      dividers_[axis] = Divider(fits_ && view.extent(axis) > 0 ? view.extent(axis) : 1);
    }
    const Index<rank> extents = shape();
    for (int axis = 0; axis < rank; ++axis) fits_ = fits_ && extents[axis] < limit;
  }

  KGEN_FN Index<rank> shape() const {
    Index<rank> extents{};
    multiply<0, 0, Runs...>(extents);
    return extents;
  }

  // W lanes along the last axis: at once where they lie in one line of the View, else in halves where lines are so
  // long, else one by one.
  template <int W>
  KGEN_FN Vec<lane_type, W> load(const Index<rank>& at) const {
    Index<V::rank> from = position(at);
    if constexpr (W == 1 || last_run() == 1) {
      return view.template load<W>(from);
    } else {
      if (from[last] + W <= view.extent(last)) return load_anywhere<W>(view, from);
      if constexpr (W > few) {
        if (view.extent(last) >= W) return concatenate(load<W / 2>(at), load<W / 2>(further(at, W / 2)));
      }
      lane_type lanes[W];
      KGEN_UNROLL
      for (int i = 0; i < W; ++i) {
        lanes[i] = view.template load<1>(from).data;
        advance(from, V::rank, Index<V::rank>{}, view.shape());
      }
      return load_lanes<W>(lanes);
    }
  }
  template <class U, int W>
  requires(!std::is_const_v<element_type>) KGEN_FN void store(const Index<rank>& at, const Vec<U, W>& lanes) const {
    Index<V::rank> to = position(at);
    if constexpr (W == 1 || last_run() == 1) {
      view.store(to, lanes);
    } else {
      if (to[last] + W <= view.extent(last)) return store_anywhere(view, to, lanes);
      if constexpr (W > few) {
        if (view.extent(last) >= W) {
          store(at, low_half(lanes));
          return store(further(at, W / 2), high_half(lanes));
        }
      }
      KGEN_UNROLL
      for (int i = 0; i < W; ++i) {
        view.store(to, Vec<U, 1>(lanes[i]));
        advance(to, V::rank, Index<V::rank>{}, view.shape());
      }
    }
  }

 private:
  static consteval int last_run() {
    int run = 0;
    ((run = Runs), ...);
    return run;
  }
  static KGEN_FN Index<rank> further(Index<rank> at, int lanes) {
    at[rank - 1] += lanes;
    return at;
  }
  static constexpr int few = 4;
  static constexpr std::int64_t limit = std::int64_t{1} << 31;

  template <int Axis, int First, int Run, int... Rest>
  KGEN_FN void multiply(Index<rank>& extents) const {
    extents[Axis] = 1;
    KGEN_UNROLL
    for (int i = First; i < First + Run; ++i) extents[Axis] *= view.extent(i);
    if constexpr (sizeof...(Rest) > 0) multiply<Axis + 1, First + Run, Rest...>(extents);
  }

  KGEN_FN Index<V::rank> position(const Index<rank>& at) const {
    Index<V::rank> result{};
    split<0, 0, Runs...>(at, result);
    return result;
  }
  template <int Axis, int First, int Run, int... Rest>
  KGEN_FN void split(const Index<rank>& at, Index<V::rank>& result) const {
    std::int64_t left = at[Axis];
    KGEN_UNROLL
    for (int i = First + Run - 1; i > First; --i) {
      const std::int64_t outer = divide(left, i);
      result[i] = left;
      left = outer;
    }
    result[First] = left;
    if constexpr (sizeof...(Rest) > 0) split<Axis + 1, First + Run, Rest...>(at, result);
  }
  // n becomes n % extent; returns n / extent.
  KGEN_FN std::int64_t divide(std::int64_t& n, int axis) const {
    if (fits_) {
      auto rest = static_cast<std::uint32_t>(n);
      const std::uint32_t quotient = dividers_[axis].split(rest);
      n = rest;
      return quotient;
    }
    const std::int64_t extent = view.extent(axis), quotient = n / extent;
    n -= quotient * extent;
    return quotient;
  }

  Divider dividers_[V::rank];
  bool fits_ = true;  // every position along an axis is below the dividers' limit
};

template <class S>
inline constexpr bool is_flattened = false;
template <class V, int... Runs>
inline constexpr bool is_flattened<Flattened<V, Runs...>> = true;

}  // namespace kgen
