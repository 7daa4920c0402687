// Attention over a cache of keys and values in pages.
#pragma once

#include "kgen/attention.hpp"

namespace kgen {

namespace detail {
template <class K, class Entry>
PageTable<Entry> page_table(const K& k_pages, const View<const Entry, 2>& block_table) {
  return {block_table, k_pages.extent(0), k_pages.extent(1)};
}
}  // namespace detail

// attention, with lengths, of keys and values that lie in pages of R positions: key t of sequence b is
// k_pages[block_table[b, t / R], t % R], likewise the values, so that sequences take memory as they grow, may share
// what they have in common, and lie anywhere. q, out: [B, S, H, D]; k_pages, v_pages: [P, R, G, D]; block_table: [B,
// N]; lengths: [B], fewer than 0 are none, more than N * R all; mask: broadcast to [B, H, S, N * R], as attention's.
// Keys of a page that there is not, whose number is less than 0 or P and more, do not count: of the others each keeps
// its place. Behind the pages that the lengths need the table may hold anything. All that is read where the kernel runs.
//
// On Hopper's tensor cores R is a multiple of 8, which the copy engine takes as they lie. Of other pages, and of those
// of 8 bits where there are many queries, keys are gathered first, in memory set aside for the call, if B * N is at
// most P; else a plain kernel reads them. Keys in a page behind the last may be arithmetic there: a value must not be
// NaN.
template <Source<4> Q, Memory<4> K, Memory<4> V, OneOf<std::int32_t, std::int64_t> Entry,
          OneOf<std::int32_t, std::int64_t> I, BroadcastsTo<4> Mask, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(paged_attention)
void paged_attention(const Q& q, const K& k_pages, const V& v_pages, const View<const Entry, 2>& block_table,
                     const View<const I, 1>& lengths, const Mask& mask, double scale, bool causal, const Out& out,
                     Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> && AttentionMask<view_element_t<Mask>> {
  const PagedAttention<Entry, I> rule(WholeAttention(causal), lengths, detail::page_table(k_pages, block_table));
  const auto added = detail::added_to_scores(mask, q.shape(), rule.table.capacity());
  target::attention(q, k_pages, v_pages, added, scale, rule, out, stream);
}

// Without a mask.
template <Source<4> Q, Memory<4> K, Memory<4> V, OneOf<std::int32_t, std::int64_t> Entry,
          OneOf<std::int32_t, std::int64_t> I, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(paged_attention)
void paged_attention(const Q& q, const K& k_pages, const V& v_pages, const View<const Entry, 2>& block_table,
                     const View<const I, 1>& lengths, double scale, bool causal, const Out& out,
                     Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> {
  const PagedAttention<Entry, I> rule(WholeAttention(causal), lengths, detail::page_table(k_pages, block_table));
  target::attention(q, k_pages, v_pages, target::NoMask{}, scale, rule, out, stream);
}

// window_attention of such keys: the last query of a sequence is at the last of its lengths[b] keys.
template <Source<4> Q, Memory<4> K, Memory<4> V, OneOf<std::int32_t, std::int64_t> Entry,
          OneOf<std::int32_t, std::int64_t> I, BroadcastsTo<4> Mask, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(paged_window_attention)
void paged_window_attention(const Q& q, const K& k_pages, const V& v_pages, const View<const Entry, 2>& block_table,
                            const View<const I, 1>& lengths, const Mask& mask, double scale, double soft_cap,
                            std::int64_t left, std::int64_t right, const Out& out,
                            Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> && AttentionMask<view_element_t<Mask>> {
  const auto table = detail::page_table(k_pages, block_table);
  const auto seen = LocalAttention::of(left, right, soft_cap, table.capacity(), q.shape()[1]);
  const PagedAttention<Entry, I, LocalAttention> rule(seen, lengths, table);
  const auto added = detail::added_to_scores(mask, q.shape(), table.capacity());
  target::attention(q, k_pages, v_pages, added, scale, rule, out, stream);
}

// Without a mask.
template <Source<4> Q, Memory<4> K, Memory<4> V, OneOf<std::int32_t, std::int64_t> Entry,
          OneOf<std::int32_t, std::int64_t> I, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(paged_window_attention)
void paged_window_attention(const Q& q, const K& k_pages, const V& v_pages, const View<const Entry, 2>& block_table,
                            const View<const I, 1>& lengths, double scale, double soft_cap, std::int64_t left,
                            std::int64_t right, const Out& out,
                            Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> {
  const auto table = detail::page_table(k_pages, block_table);
  const auto seen = LocalAttention::of(left, right, soft_cap, table.capacity(), q.shape()[1]);
  const PagedAttention<Entry, I, LocalAttention> rule(seen, lengths, table);
  target::attention(q, k_pages, v_pages, target::NoMask{}, scale, rule, out, stream);
}

}  // namespace kgen
