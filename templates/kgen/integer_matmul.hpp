// Matrix products of bytes with sums in i32: by the instructions that CPUs have for them, or by Hopper's tensor cores.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/integer_matmul.hpp"
#else
#include "kgen/cpu/integer_matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// The sources and zero points of these products.
template <class T>
concept Byte = OneOf<T, std::int8_t, std::uint8_t>;

namespace detail {

// The zero point of an operand that has none.
struct NoZeroPoint {
  static constexpr bool is_none = true;

  template <int W, int R>
  KGEN_FN Vec<std::int32_t, W> at(const Index<R>&) const {
    return Vec<std::int32_t, W>(0);
  }
};
template <class V>
struct ZeroPoint {
  static constexpr bool is_none = false;
  V view;

  template <int W, int R>
  KGEN_FN Vec<std::int32_t, W> at(const Index<R>& index) const {
    return convert<std::int32_t>(view.template load<W>(index));
  }
};
template <int R, class V>
auto zero_point(const V& view, const Index<R>& shape) {
  const View<const view_element_t<V>, V::rank> read = view;
  const auto whole = read.broadcast_to(shape);
  return ZeroPoint<std::remove_const_t<decltype(whole)>>{whole};
}

}  // namespace detail

// A matrix [K, N] of bytes in panels of 16 columns, each of which lies in one piece: with Q = (K + 3) / 4, the four bytes of
// column n at k = 4 q to 4 q + 3 are at [n / 16, q, 4 * (n % 16)] as i8, which for u8 are 128 less. What lies beyond the
// matrix is 0. Behind the fours stand, as i32 of 16 columns, the sums of each column's bytes, and its zero point.
//
// b: [K, N], b_zero: broadcast to [N]; panels: [(N + 15) / 16, Q + 2, 64].
template <Source<2> B, BroadcastsTo<1> Zero>
KGEN_KERNEL(pack_bytes, "target == cpu")
void pack_bytes(const B& b, const Zero& b_zero, const View<std::int8_t, 3>& panels, Stream stream = {})
requires Byte<source_lane_t<B, 2>> && Byte<view_element_t<Zero>>
{
  const auto zero = detail::zero_point(b_zero, Index<1>{b.shape()[1]});
  target::pack_bytes(b, zero, panels, stream);
}
template <Source<2> B>
KGEN_KERNEL(pack_bytes, "target == cpu")
void pack_bytes(const B& b, const View<std::int8_t, 3>& panels, Stream stream = {})
requires Byte<source_lane_t<B, 2>>
{
  target::pack_bytes(b, detail::NoZeroPoint{}, panels, stream);
}

// c[m, n] = sum over k of (a[m, k] - a_zero[m]) * (b[k, n] - b_zero[n]) in i32, which wraps. a: [M, K], b: [K, N], a_zero:
// broadcast to [M, 1], b_zero: broadcast to [N], c: [M, N]. On the CPU a prologue of a is evaluated once for each element;
// twice where b is of u8 or has zero points; on a GPU as matmul's. TileM and TileN: extents of the piece of c that a
// thread of the CPU computes at a time.
template <int TileM = 96, int TileN = 256, Source<2> A, Source<2> B, Memory<2> AZero, BroadcastsTo<1> BZero,
          Sink<std::int32_t, 2> C>
KGEN_KERNEL(integer_matmul) KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_EVALUATED(a, "(N + 63) / 64", "target == gpu")
KGEN_EVALUATED(b, "(elements(a) / K + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(a, "architecture == sm_90a")
KGEN_IN_MEMORY(b, "architecture == sm_90a")
void integer_matmul(const A& a, const B& b, const AZero& a_zero, const BZero& b_zero, const C& c,
                    Stream stream = {}) requires Byte<source_lane_t<A, 2>> && Byte<source_lane_t<B, 2>> &&
    Byte<view_element_t<AZero>> && Byte<view_element_t<BZero>> && Allowed<TileM, 48, 96, 192> &&
    Allowed<TileN, 128, 256, 512> {
  assert(a.shape()[1] == b.shape()[0]);
  const auto left = detail::zero_point(a_zero, Index<2>{a.shape()[0], 1});
  const auto right = detail::zero_point(b_zero, Index<1>{b.shape()[1]});
  target::integer_matmul<TileM, TileN>(a, b, left, right, c, stream);
}
template <int TileM = 96, int TileN = 256, Source<2> A, Source<2> B, Memory<2> AZero, Sink<std::int32_t, 2> C>
KGEN_KERNEL(integer_matmul) KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
void integer_matmul(const A& a, const B& b, const AZero& a_zero, const C& c,
                    Stream stream = {}) requires Byte<source_lane_t<A, 2>> && Byte<source_lane_t<B, 2>> &&
    Byte<view_element_t<AZero>> && Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512> {
  assert(a.shape()[1] == b.shape()[0]);
  const auto left = detail::zero_point(a_zero, Index<2>{a.shape()[0], 1});
  target::integer_matmul<TileM, TileN>(a, b, left, detail::NoZeroPoint{}, c, stream);
}
template <int TileM = 96, int TileN = 256, Source<2> A, Source<2> B, BroadcastsTo<1> BZero, Sink<std::int32_t, 2> C>
KGEN_KERNEL(integer_matmul) KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
void integer_matmul(const A& a, const B& b, const BZero& b_zero, const C& c,
                    Stream stream = {}) requires Byte<source_lane_t<A, 2>> && Byte<source_lane_t<B, 2>> &&
    Byte<view_element_t<BZero>> && Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512> {
  assert(a.shape()[1] == b.shape()[0]);
  const auto right = detail::zero_point(b_zero, Index<1>{b.shape()[1]});
  target::integer_matmul<TileM, TileN>(a, b, detail::NoZeroPoint{}, right, c, stream);
}
template <int TileM = 96, int TileN = 256, Source<2> A, Source<2> B, Sink<std::int32_t, 2> C>
KGEN_KERNEL(integer_matmul) KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
void integer_matmul(const A& a, const B& b, const C& c, Stream stream = {})
requires Byte<source_lane_t<A, 2>> && Byte<source_lane_t<B, 2>> && Allowed<TileM, 48, 96, 192> &&
         Allowed<TileN, 128, 256, 512>
{
  assert(a.shape()[1] == b.shape()[0]);
  target::integer_matmul<TileM, TileN>(a, b, detail::NoZeroPoint{}, detail::NoZeroPoint{}, c, stream);
}

// The same where `panels` is b, with its zero points, as pack_bytes lays it out, and `padding` of its last columns are
// none of b's.
template <int TileM = 96, int TileN = 256, Source<2> A, Memory<3> P, Memory<2> Zero, Sink<std::int32_t, 2> C>
KGEN_KERNEL(packed_integer_matmul, "target == cpu") KGEN_TUNED(TileM) KGEN_TUNED(TileN)
void packed_integer_matmul(
    const A& a, const P& panels, const Zero& a_zero, std::int64_t padding, const C& c,
    Stream stream = {}) requires Byte<source_lane_t<A, 2>> && OneOf<view_element_t<P>, std::int8_t> &&
    Byte<view_element_t<Zero>> && Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512> {
  assert((a.shape()[1] + 3) / 4 + 2 == panels.extent(1) && panels.extent(2) == 64 && padding >= 0 && padding < 16);
  const auto left = detail::zero_point(a_zero, Index<2>{a.shape()[0], 1});
  target::packed_integer_matmul<TileM, TileN>(a, left, panels, padding, c, stream);
}
template <int TileM = 96, int TileN = 256, Source<2> A, Memory<3> P, Sink<std::int32_t, 2> C>
KGEN_KERNEL(packed_integer_matmul, "target == cpu") KGEN_TUNED(TileM) KGEN_TUNED(TileN)
void packed_integer_matmul(const A& a, const P& panels, std::int64_t padding, const C& c, Stream stream = {})
requires Byte<source_lane_t<A, 2>> && OneOf<view_element_t<P>, std::int8_t> && Allowed<TileM, 48, 96, 192> &&
         Allowed<TileN, 128, 256, 512>
{
  assert((a.shape()[1] + 3) / 4 + 2 == panels.extent(1) && panels.extent(2) == 64 && padding >= 0 && padding < 16);
  target::packed_integer_matmul<TileM, TileN>(a, detail::NoZeroPoint{}, panels, padding, c, stream);
}

}  // namespace kgen
