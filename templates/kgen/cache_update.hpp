// New keys and values, written into the slots of their caches that the device names.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/scatter.hpp"
#include "kgen/view.hpp"

namespace kgen {

namespace detail {
// Where the slots of a sequence are: in its own place of the cache.
struct OwnSlots {
  // False where there is no such slot.
  template <class Cache>
  KGEN_FN bool find(Index<4>& at, std::int64_t slot, const Cache& cache) const {
    at[1] = slot;
    return slot >= 0 && slot < cache.extent(1);
  }
};
// Or in the pages that a table names.
template <class Entry>
struct PagedSlots {
  Anywhere<View<const Entry, 2>> table;

  template <class Cache>
  KGEN_FN bool find(Index<4>& at, std::int64_t slot, const Cache& cache) const {
    const std::int64_t page_slots = cache.extent(1), number = page_slots == 0 ? 0 : slot / page_slots;
    if (slot < 0 || page_slots == 0 || number >= table.view.extent(1)) return false;
    at[0] = static_cast<std::int64_t>(table.view.template load<1>(Index<2>{at[0], number}).data);
    at[1] = slot - number * page_slots;
    return at[0] >= 0 && at[0] < cache.extent(0);
  }
};

template <class T, class I, class K, class V, class Slots>
struct CacheUpdate {
  K keys;
  V values;
  View<const I, 4> slots;  // along two axes always the same
  Slots in_cache;
  Anywhere<View<T, 4>> k_cache, v_cache;

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    const auto key = keys.template load<W>(at);
    const auto value = values.template load<W>(at);
    if (!in_cache.find(at, static_cast<std::int64_t>(slots.template load<1>(at).data), k_cache.view)) return;
    store_to(k_cache.view, at, key);
    store_to(v_cache.view, at, value);
  }
};

template <class K, class V, class I, class T, class Slots>
void update_caches(const View<const T, 4>& k_cache, const View<const T, 4>& v_cache, const K& keys, const V& values,
                   const View<const I, 2>& slots, const Slots& in_cache, const View<T, 4>& all_keys,
                   const View<T, 4>& all_values, Stream stream) {
  assert(k_cache.shape() == all_keys.shape() && v_cache.shape() == all_values.shape());
  assert(all_keys.shape() == all_values.shape());
  if (k_cache.data() != all_keys.data()) copy(all_keys.shape(), k_cache, all_keys, stream);
  if (v_cache.data() != all_values.data()) copy(all_values.shape(), v_cache, all_values, stream);
  const Index<4> shape = keys.shape();
  const View<const I, 4> of_rows = slots.template unsqueeze<2>().template unsqueeze<3>().broadcast_to(shape);
  elementwise(shape, CacheUpdate<T, I, K, V, Slots>{keys, values, of_rows, in_cache, {all_keys}, {all_values}}, stream);
}
}  // namespace detail

// The caches, in which all_keys[b, slots[b, s]] = keys[b, s], and the values' likewise. What is to go beyond a cache is
// dropped, and no slot may be named twice. k_cache, v_cache, all_keys, all_values: [B, T, G, D]; keys, values:
// [B, S, G, D]; slots: [B, S]. Where a result is the memory of its cache, nothing else of that is touched.
template <Source<4> K, Source<4> V, OneOf<std::int32_t, std::int64_t> I, Element T>
KGEN_KERNEL(cache_update)
void cache_update(const View<const T, 4>& k_cache, const View<const T, 4>& v_cache, const K& keys, const V& values,
                  const View<const I, 2>& slots, const View<T, 4>& all_keys, const View<T, 4>& all_values,
                  Stream stream = {}) requires Element<source_lane_t<K, 4>> && Element<source_lane_t<V, 4>> {
  detail::update_caches(k_cache, v_cache, keys, values, slots, detail::OwnSlots{}, all_keys, all_values, stream);
}

// The same of caches in pages of R slots, [P, R, G, D]: slot t of sequence b is t % R of page block_table[b, t / R].
// block_table: [B, N]. What is to go beyond the table, or to a page that there is not, is dropped.
template <Source<4> K, Source<4> V, OneOf<std::int32_t, std::int64_t> Entry, OneOf<std::int32_t, std::int64_t> I,
          Element T>
KGEN_KERNEL(paged_cache_update)
void paged_cache_update(const View<const T, 4>& k_pages, const View<const T, 4>& v_pages, const K& keys,
                        const V& values, const View<const Entry, 2>& block_table, const View<const I, 2>& slots,
                        const View<T, 4>& all_keys, const View<T, 4>& all_values,
                        Stream stream = {}) requires Element<source_lane_t<K, 4>> && Element<source_lane_t<V, 4>> {
  const detail::PagedSlots<Entry> in_cache{{block_table}};
  detail::update_caches(k_pages, v_pages, keys, values, slots, in_cache, all_keys, all_values, stream);
}

}  // namespace kgen
