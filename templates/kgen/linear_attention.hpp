// Attention whose past is one matrix for each head, which every step changes, instead of a cache of keys and values.
//
//   state[d, e] = decay[d] * state[d, e] + k[d] * v[e]
//   y[e]        = scale * sum over d of q[d] * state[d, e]
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#if defined(KGEN_GPU)
#include "kgen/gpu/linear_attention.hpp"
#else
#include "kgen/cpu/linear_attention.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/view.hpp"

namespace kgen {
namespace detail {

// All that is added is what the values say.
struct NoRate {
  static constexpr bool corrects = false;
};
// Only as much is added as the state does not say already, times a rate.
template <class T>
struct CorrectionRate {
  static constexpr bool corrects = true;
  View<const T, 3> rate;  // [B, S, H]
};

// A few columns of a head's matrix through all steps: they depend on no other column.
template <class Q, class K, class V, class T, class Rate, class Out>
struct StateColumns {
  View<const Q, 4> q;
  View<const K, 4> k;
  V v;
  View<const T, 4> first;  // the states before the first step
  View<const T, 4> decay;
  Rate rate;
  T scale;
  Out y;
  View<T, 4> state;  // [B, H, keys, values]

  KGEN_FN std::int64_t keys() const { return state.extent(2); }

  // Of head `head` in sequence `b`, columns column, ..., column + W - 1.
  template <int W>
  KGEN_FN void walk(std::int64_t b, std::int64_t head, std::int64_t column) const {
    for (std::int64_t i = 0; i < keys(); ++i) {
      const Index<4> at{b, head, i, column};
      state.store(at, first.template load<W>(at));
    }
    const std::int64_t steps = v.shape()[1];
    for (std::int64_t t = 0; t < steps; ++t) {
      change<W>(b, t, head, column);
      read<W>(b, t, head, column);
    }
  }

  // One element, in all lanes.
  template <int W, class E>
  KGEN_FN Vec<T, W> spread(const View<const E, 4>& view, const Index<4>& at) const {
    return Vec<T, W>(convert<T>(view.template load<1>(at)).data);
  }
  template <int W>
  KGEN_FN Vec<T, W> decayed(std::int64_t b, std::int64_t t, std::int64_t head, std::int64_t i,
                            std::int64_t column) const {
    return spread<W>(decay, {b, t, head, i}) * state.template load<W>(Index<4>{b, head, i, column});
  }

  template <int W>
  KGEN_FN void change(std::int64_t b, std::int64_t t, std::int64_t head, std::int64_t column) const {
    Vec<T, W> added = convert<T>(v.template load<W>(Index<4>{b, t, head, column}));
    if constexpr (Rate::corrects) {
      Vec<T, W> said(T(0));
      for (std::int64_t i = 0; i < keys(); ++i) {
        said = multiply_add(spread<W>(k, {b, t, head, i}), decayed<W>(b, t, head, i, column), said);
      }
      added = Vec<T, W>(rate.rate.template load<1>(Index<3>{b, t, head}).data) * (added - said);
    }
    for (std::int64_t i = 0; i < keys(); ++i) {
      const auto kept = decayed<W>(b, t, head, i, column);
      state.store(Index<4>{b, head, i, column}, multiply_add(spread<W>(k, {b, t, head, i}), added, kept));
    }
  }

  // For each query head that shares the state.
  template <int W>
  KGEN_FN void read(std::int64_t b, std::int64_t t, std::int64_t head, std::int64_t column) const {
    const std::int64_t sharing = q.shape()[2] / state.extent(1);
    for (std::int64_t each = head * sharing; each < (head + 1) * sharing; ++each) {
      Vec<T, W> sum(T(0));
      for (std::int64_t i = 0; i < keys(); ++i) {
        const auto element = state.template load<W>(Index<4>{b, head, i, column});
        sum = multiply_add(spread<W>(q, {b, t, each, i}), element, sum);
      }
      store_to(y, Index<4>{b, t, each, column}, Vec<T, W>(scale) * sum);
    }
  }
};

template <class Q, class K, class V, class T, class Rate, class Out>
void linear_attention(const View<const Q, 4>& q, const View<const K, 4>& k, const V& v, const View<const T, 4>& state,
                      const View<const T, 4>& decay, const Rate& rate, double scale, const Out& y,
                      const View<T, 4>& last_state, Stream stream) {
  const Index<4> queries = q.shape(), keys = k.shape(), values = v.shape();
  assert(queries[2] % values[2] == 0 && keys[2] == values[2] && queries[3] == keys[3]);
  assert(state.extent(2) == keys[3] && state.extent(3) == values[3] && decay.extent(3) == keys[3]);
  (void)queries, (void)keys, (void)values;
  target::walk_columns(
      StateColumns<Q, K, V, T, Rate, Out>{q, k, v, state, decay, rate, static_cast<T>(scale), y, last_state}, stream);
}

}  // namespace detail

// For each of H heads a state, a matrix of D rows (as wide as the keys) and E columns (as the values). Each of the S
// steps makes decay[d] * state[d, e] + k[d] * v[e] of it, or with a rate decay[d] * state[d, e] + k[d] * rate * (v[e] -
// what the decayed state says of k), and gives scale times the sums over d of q[d] * state[d, e]. G query heads read
// the states, each G / H of them the same. q: [B, S, G, D]; k, decay: [B, S, H, D]; v: [B, S, H, E]; rate: [B, S, H];
// state, last_state: [B, H, D, E], before the first step and after the last; y: [B, S, G, E].
template <Float Q, Float K, Source<4> V, OneOf<float, double> T, Sink<T, 4> Out>
KGEN_KERNEL(linear_attention)
void linear_attention(const View<const Q, 4>& q, const View<const K, 4>& k, const V& v, const View<const T, 4>& state,
                      const View<const T, 4>& decay, const View<const T, 3>& rate, double scale, const Out& y,
                      const View<T, 4>& last_state, Stream stream = {}) requires Float<source_lane_t<V, 4>> {
  detail::linear_attention(q, k, v, state, decay, detail::CorrectionRate<T>{rate}, scale, y, last_state, stream);
}
template <Float Q, Float K, Source<4> V, OneOf<float, double> T, Sink<T, 4> Out>
KGEN_KERNEL(linear_attention)
void linear_attention(const View<const Q, 4>& q, const View<const K, 4>& k, const V& v, const View<const T, 4>& state,
                      const View<const T, 4>& decay, double scale, const Out& y, const View<T, 4>& last_state,
                      Stream stream = {}) requires Float<source_lane_t<V, 4>> {
  detail::linear_attention(q, k, v, state, decay, detail::NoRate{}, scale, y, last_state, stream);
}

}  // namespace kgen
