// Attention over a cache of keys and values in pages.
#pragma once

#include "kgen/attention.hpp"

namespace kgen {

// attention, with lengths, of keys and values that lie in pages of R positions: key t of sequence b is
// k_pages[block_table[b, t / R], t % R], likewise the values, so that sequences take memory as they grow, may share
// what they have in common, and lie anywhere. q, out: [B, S, H, D]; k_pages, v_pages: [P, R, G, D]; block_table: [B,
// N]; lengths: [B], fewer than 0 are none, more than N * R all. Keys of a page that there is not, whose number is less
// than 0 or P and more, do not count: of the others each keeps its place. Behind the pages that the lengths need the
// table may hold anything. All that is read where the kernel runs.
//
// On Hopper's tensor cores R is a multiple of 8, which the copy engine takes as they lie. Of other pages, and of those
// of 8 bits where there are many queries, keys are gathered first, in memory set aside for the call, if B * N is at
// most P; else a plain kernel reads them. Keys in a page behind the last may be arithmetic there: a value must not be
// NaN.
template <Source<4> Q, Memory<4> K, Memory<4> V, OneOf<std::int32_t, std::int64_t> Entry,
          OneOf<std::int32_t, std::int64_t> I, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(paged_attention)
void paged_attention(const Q& q, const K& k_pages, const V& v_pages, const View<const Entry, 2>& block_table,
                     const View<const I, 1>& lengths, double scale, bool causal, const Out& out,
                     Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> {
  const PagedAttention<Entry, I> rule(causal, lengths, block_table, k_pages.extent(0), k_pages.extent(1));
  target::attention(q, k_pages, v_pages, target::NoMask{}, scale, rule, out, stream);
}

}  // namespace kgen
