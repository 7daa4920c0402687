// New keys and values, written into the slots of their caches that the device names.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/scatter.hpp"
#include "kgen/view.hpp"

namespace kgen {

namespace detail {
template <class T, class I, class K, class V>
struct CacheUpdate {
  K keys;
  V values;
  View<const I, 4> slots;  // along two axes always the same
  Anywhere<View<T, 4>> k_cache, v_cache;

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    const auto key = keys.template load<W>(at);
    const auto value = values.template load<W>(at);
    at[1] = static_cast<std::int64_t>(slots.template load<1>(at).data);
    if (at[1] < 0 || at[1] >= k_cache.view.extent(1)) return;
    store_to(k_cache.view, at, key);
    store_to(v_cache.view, at, value);
  }
};
}  // namespace detail

// The caches, in which all_keys[b, slots[b, s]] = keys[b, s], and the values' likewise. What is to go beyond a cache is
// dropped, and no slot may be named twice. k_cache, v_cache, all_keys, all_values: [B, T, G, D]; keys, values:
// [B, S, G, D]; slots: [B, S]. Where a result is the memory of its cache, nothing else of that is touched.
template <Source<4> K, Source<4> V, OneOf<std::int32_t, std::int64_t> I, Element T>
KGEN_KERNEL(cache_update)
void cache_update(const View<const T, 4>& k_cache, const View<const T, 4>& v_cache, const K& keys, const V& values,
                  const View<const I, 2>& slots, const View<T, 4>& all_keys, const View<T, 4>& all_values,
                  Stream stream = {}) requires Element<source_lane_t<K, 4>> && Element<source_lane_t<V, 4>> {
  assert(k_cache.shape() == all_keys.shape() && v_cache.shape() == all_values.shape());
  assert(all_keys.shape() == all_values.shape());
  if (k_cache.data() != all_keys.data()) copy(all_keys.shape(), k_cache, all_keys, stream);
  if (v_cache.data() != all_values.data()) copy(all_values.shape(), v_cache, all_values, stream);
  const Index<4> shape = keys.shape();
  const View<const I, 4> of_rows = slots.template unsqueeze<2>().template unsqueeze<3>().broadcast_to(shape);
  elementwise(shape, detail::CacheUpdate<T, I, K, V>{keys, values, of_rows, {all_keys}, {all_values}}, stream);
}

}  // namespace kgen
