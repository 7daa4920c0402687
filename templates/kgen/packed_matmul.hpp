// Matrix multiplication by a right operand that was packed before, on the CPU: a weight is packed once, when the model
// is loaded, instead of in every call. GPUs multiply by matrices as they lie.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/packed_matmul.hpp"
#else
#include "kgen/cpu/packed_pair_matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/several.hpp"
#include "kgen/view.hpp"

namespace kgen {

// A matrix [K, N] in panels of 16 columns, each of which lies in one piece, row after row: element (k, n) is at
// [n / 16, k, n % 16], whatever instructions the code is compiled for. What lies beyond the last column is 0. Elements
// keep their type.
//
// b: [K, N], panels: [(N + 15) / 16, K, 16].
template <Source<2> B, Number T>
KGEN_KERNEL(pack_columns, "target == cpu")
void pack_columns(const B& b, const View<T, 3>& panels, Stream stream = {})
requires Number<source_lane_t<B, 2>>
{
  assert(panels.extent(0) == (b.shape()[1] + 15) / 16 && panels.extent(1) == b.shape()[0]);
  target::pack_columns(b, panels, stream);
}

// c[m, n] = sum over k of a[m, k] * b[k, n], accumulated in f32 (f64 for f64) in the order of k, where `panels` is b as
// pack_columns lays it out, and `padding` of its last columns are none of b's. a: [M, K], c: [M, N]. Several right
// operands, each with an N of its own, are multiplied by one left operand that is read once. A prologue is evaluated once
// for each element of a, as far as the packed copy fits in memory set aside for it, and an epilogue once for each element
// of the result. TileM and TileN: extents of the piece of c that a thread computes at a time.
template <int TileM = 96, int TileN = 256, Source<2> A, SeveralMemory<3, 8> P,
          SeveralSinks<source_lane_t<A, 2>, several_count<P>, 2> C>
KGEN_KERNEL(packed_matmul, "target == cpu") KGEN_TUNED(TileM) KGEN_TUNED(TileN)
void packed_matmul(const A& a, const P& panels, std::int64_t padding, const C& c, Stream stream = {})
requires Number<source_lane_t<A, 2>> && Number<view_element_t<first_of_t<P>>> && Allowed<TileM, 48, 96, 192> &&
         Allowed<TileN, 128, 256, 512>
{
  for_each_of(panels, [&]([[maybe_unused]] const auto& each) {
    assert(a.shape()[1] == each.extent(1) && each.extent(2) == 16);
  });
  assert(padding >= 0 && padding < 16);
  target::packed_matmul<TileM, TileN>(a, panels, padding, c, stream);
}

#if !defined(KGEN_GPU)

// A matrix [K, N] of bf16 in panels of 16 columns, each of which lies in one piece, with two neighbours along k in 32
// bits, the earlier one in the upper half, as products of pairs and tiles read them: element (k, n) is at [n / 16, k / 2,
// 2 * (n % 16) + 1 - k % 2], whatever instructions the code is compiled for. What lies beyond the matrix is 0.
//
// b: [K, N], panels: [(N + 15) / 16, (K + 1) / 2, 32].
template <Source<2> B>
KGEN_KERNEL(pack_pairs, "target == cpu")
void pack_pairs(const B& b, const View<bf16, 3>& panels, Stream stream = {})
requires OneOf<source_lane_t<B, 2>, bf16>
{
  assert(panels.extent(0) == (b.shape()[1] + 15) / 16 && panels.extent(1) == (b.shape()[0] + 1) / 2);
  target::pack_pairs(b, panels, stream);
}

// As packed_matmul, where `panels` is b as pack_pairs lays it out. Where processors multiply pairs or tiles of a that is
// bf16 in memory, what is smaller than 2^-126 counts as 0, and tiles sum even and odd k apart.
template <int TileM = 96, int TileN = 256, Source<2> A, SeveralMemory<3, 8> P,
          SeveralSinks<source_lane_t<A, 2>, several_count<P>, 2> C>
KGEN_KERNEL(packed_pair_matmul, "target == cpu") KGEN_TUNED(TileM) KGEN_TUNED(TileN)
void packed_pair_matmul(const A& a, const P& panels, std::int64_t padding, const C& c, Stream stream = {})
requires OneOf<source_lane_t<A, 2>, bf16> && OneOf<view_element_t<first_of_t<P>>, bf16> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  for_each_of(panels, [&]([[maybe_unused]] const auto& each) {
    assert((a.shape()[1] + 1) / 2 == each.extent(1) && each.extent(2) == 32);
  });
  assert(padding >= 0 && padding < 16);
  target::packed_pair_matmul<TileM, TileN>(a, panels, padding, c, stream);
}

#endif

}  // namespace kgen
