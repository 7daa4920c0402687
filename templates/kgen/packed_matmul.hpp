// Matrix multiplication by a right operand that was packed before, on the CPU: a weight is packed once, when the model
// is loaded, instead of in every call. GPUs multiply by matrices as they lie.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/packed_matmul.hpp"
#else
#include "kgen/cpu/packed_matmul.hpp"
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

}  // namespace kgen
