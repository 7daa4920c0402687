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
      if (view.extent(axis) > 0) dividers_[axis] = WideDivider(view.extent(axis));
    }
  }

  KGEN_FN Index<rank> shape() const {
    Index<rank> extents{};
    multiply<0, 0, Runs...>(extents);
    return extents;
  }

  // W lanes along the last axis: at once where they lie in one line of the View; else in halves on the CPU, where lines
  // hold some, and one by one on a GPU, in a loop: what stands here is copied to each place of a kernel's results.
  template <int W>
  KGEN_FN Vec<lane_type, W> load(const Index<rank>& at) const {
    Index<V::rank> from = position(at);
    if constexpr (W == 1 || last_run() == 1) {
      return view.template load<W>(from);
    } else {
      if (in_line<W>(from)) return view.template load<W>(from);
#if !defined(KGEN_GPU)
      if constexpr (W > few) {
        if (view.extent(last) >= few) return concatenate(load<W / 2>(at), load<W / 2>(further(at, W / 2)));
      }
#endif
      lane_type lanes[W];
      KGEN_NO_UNROLL
      for (int i = 0; i < W; ++i) {
        const lane_type lane = view.template load<1>(from).data;
        KGEN_UNROLL
        for (int each = 0; each < W; ++each) lanes[each] = each == i ? lane : lanes[each];
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
      if (in_line<W>(to)) return view.store(to, lanes);
#if !defined(KGEN_GPU)
      if constexpr (W > few) {
        if (view.extent(last) >= few) {
          store(at, low_half(lanes));
          return store(further(at, W / 2), high_half(lanes));
        }
      }
#endif
      KGEN_NO_UNROLL
      for (int i = 0; i < W; ++i) {
        U lane = lanes[0];
        KGEN_UNROLL
        for (int each = 1; each < W; ++each) lane = each == i ? lanes[each] : lane;
        view.store(to, Vec<U, 1>(lane));
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

  // Whether W lanes from there on lie in one line. A GPU's vectors begin at multiples of W.
  template <int W>
  KGEN_FN bool in_line(const Index<V::rank>& from) const {
#if defined(KGEN_GPU)
    if (view.access().whole) return true;
    if (from[last] % W != 0) return false;
#endif
    return from[last] + W <= view.extent(last);
  }

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
      const std::int64_t outer = dividers_[i].split(left);
      result[i] = left;
      left = outer;
    }
    result[First] = left;
    if constexpr (sizeof...(Rest) > 0) split<Axis + 1, First + Run, Rest...>(at, result);
  }

  WideDivider dividers_[V::rank];
};

template <class S>
inline constexpr bool is_flattened = false;
template <class V, int... Runs>
inline constexpr bool is_flattened<Flattened<V, Runs...>> = true;

}  // namespace kgen
