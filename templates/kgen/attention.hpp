// Attention.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/attention.hpp"
#else
#include "kgen/cpu/attention.hpp"
#endif
#include "kgen/attention_rule.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// What attention computes with.
template <class T>
concept AttentionFloat = OneOf<T, double, float, f16, bf16>;

// What keys and values are in memory: of 8 bits, each is read as the float that it stands for.
template <class T>
concept CachedFloat = AttentionFloat<T> || OneOf<T, f8e4m3, f8e5m2>;

// What is added to scores, or which keys count.
template <class T>
concept AttentionMask = OneOf<T, double, float, f16, bf16, bool>;

namespace detail {
// As what kernels read, for the scores of queries [B, S, H, D] over so many keys.
template <class Mask>
auto added_to_scores(const Mask& mask, const Index<4>& q, std::int64_t keys) {
  using T = view_element_t<Mask>;
  const auto whole = View<const T, Mask::rank>(mask).broadcast_to(Index<4>{q[0], q[2], q[1], keys});
  if constexpr (std::is_same_v<T, bool>) {
    return CountingKeys{whole};
  } else {
    return whole;
  }
}
}  // namespace detail

// out[b, s, h, :] = sum over t of p[t] * v[b, t, g, :] with p = softmax(scale * (q[b, s, h, :] . k[b, t, g, :]) +
// mask[b, h, s, t]), where g = h / (H / G): each of the G heads of k and v serves H / G heads of q.
// q: [B, S, H, D]; k, v: [B, T, G, D]; mask: broadcast to [B, H, S, T], of truth values: true for the keys
// that count; out: [B, S, H, D], lanes along D.
// causal: query s sees keys t <= T - S + s, so that the last query sees all keys. What it does not see does not touch
// its result, be it NaN; a mask is arithmetic: 0 times a value that is NaN or infinite is NaN. A query that sees no
// key, or whose scores are all -inf, gives 0. Computed in f32 (f64 for f64), by the online softmax of FlashAttention
// (Dao et al., arXiv:2205.14135): scores never reach memory. On Hopper's tensor cores (bf16, f16) the softmax's weights
// are rounded to the type of v, and keys that are not seen may be arithmetic as those under a mask. k and v of 8 bits are
// multiplied there as f16 where there are few queries, which convert them on their way from memory (weights less than
// 2^-39 of the greatest are then 0), else as q's type, or as bf16 where a prologue makes q: once, in memory set aside
// for the call.
//
// lengths: of sequence b only the first lengths[b] keys count, in their places: it has no others, so that T is its
// length in what is said above. Fewer than 0 are none, more than T all. The kernel reads it where it runs, and of the
// others no more than a tile.
template <Source<4> Q, Memory<4> K, Memory<4> V, BroadcastsTo<4> Mask, OneOf<std::int32_t, std::int64_t> I,
          Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(attention)
void attention(const Q& q, const K& k, const V& v, const Mask& mask, const View<const I, 1>& lengths, double scale,
               bool causal, const Out& out, Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> && AttentionMask<view_element_t<Mask>> {
  const auto added = detail::added_to_scores(mask, q.shape(), k.extent(1));
  target::attention(q, k, v, added, scale, CountedAttention<I>(WholeAttention(causal), lengths), out, stream);
}

// Without a mask.
template <Source<4> Q, Memory<4> K, Memory<4> V, OneOf<std::int32_t, std::int64_t> I, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(attention)
void attention(const Q& q, const K& k, const V& v, const View<const I, 1>& lengths, double scale, bool causal,
               const Out& out, Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> {
  target::attention(q, k, v, target::NoMask{}, scale, CountedAttention<I>(WholeAttention(causal), lengths), out,
                    stream);
}

// Without lengths.
template <Source<4> Q, Memory<4> K, Memory<4> V, BroadcastsTo<4> Mask, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(attention)
void attention(const Q& q, const K& k, const V& v, const Mask& mask, double scale, bool causal, const Out& out,
               Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> && CachedFloat<view_element_t<K>> &&
    CachedFloat<view_element_t<V>> && AttentionMask<view_element_t<Mask>> {
  const auto added = detail::added_to_scores(mask, q.shape(), k.extent(1));
  target::attention(q, k, v, added, scale, WholeAttention(causal), out, stream);
}

// Without either.
template <Source<4> Q, Memory<4> K, Memory<4> V, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(attention)
void attention(const Q& q, const K& k, const V& v, double scale, bool causal, const Out& out, Stream stream = {})
requires AttentionFloat<source_lane_t<Q, 4>> && CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>>
{
  target::attention(q, k, v, target::NoMask{}, scale, WholeAttention(causal), out, stream);
}

// attention of the keys near a query's own, the one at which it is when the last query is at the last key: from `left`
// keys before to `right` keys behind it; a negative number is no limit, and right = 0 is causal. Keys and values beyond
// do not touch the result, and most are not read. soft_cap > 0: scores become soft_cap * tanh(score / soft_cap), before
// the mask is added. On Hopper's tensor cores heads of at most 128 elements.
template <Source<4> Q, Memory<4> K, Memory<4> V, BroadcastsTo<4> Mask, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(window_attention)
void window_attention(const Q& q, const K& k, const V& v, const Mask& mask, double scale, double soft_cap,
                      std::int64_t left, std::int64_t right, const Out& out,
                      Stream stream = {}) requires AttentionFloat<source_lane_t<Q, 4>> &&
    CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> && AttentionMask<view_element_t<Mask>> {
  const auto added = detail::added_to_scores(mask, q.shape(), k.extent(1));
  const auto rule = LocalAttention::of(left, right, soft_cap, k.extent(1), q.shape()[1]);
  target::attention(q, k, v, added, scale, rule, out, stream);
}

// Without a mask.
template <Source<4> Q, Memory<4> K, Memory<4> V, Sink<source_lane_t<Q, 4>, 4> Out>
KGEN_KERNEL(window_attention)
void window_attention(const Q& q, const K& k, const V& v, double scale, double soft_cap, std::int64_t left,
                      std::int64_t right, const Out& out, Stream stream = {}) requires
    AttentionFloat<source_lane_t<Q, 4>> && CachedFloat<view_element_t<K>> && CachedFloat<view_element_t<V>> {
  const auto rule = LocalAttention::of(left, right, soft_cap, k.extent(1), q.shape()[1]);
  target::attention(q, k, v, target::NoMask{}, scale, rule, out, stream);
}

}  // namespace kgen
