// Products of groups of rows, each group by a matrix of its own (Mixture of Experts).
#pragma once

#include "kgen/grouped.hpp"
#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/grouped_matmul.hpp"
#else
#include "kgen/cpu/grouped_matmul.hpp"
#endif
#include "kgen/introspect.hpp"

namespace kgen {

// c[m, n] = sum over k of a[m, k] * b[g, k, n], where g is the first group whose end is beyond m; 0 for rows behind the
// last end. Accumulated in f32 (f64 for f64); integers wrap. a: [M, K], b: [G, K, N], ends: [G], c: [M, N]. An end that
// is less than one before it counts as that, and one beyond M as M. Several right operands, each with an N of its own,
// are multiplied by the same rows.
// A prologue is evaluated as matmul's is, of b for the rows of each group. An epilogue is evaluated once for each
// element of the result. TileM, TileN and LeastBits: as matmul's.
template <int TileM = 96, int TileN = 256, int LeastBits = 13, Source<2> A, SeveralSources<3, 8> B, Integer I,
          SeveralSinks<source_lane_t<A, 2>, several_count<B>, 2> C>
KGEN_KERNEL(grouped_matmul) KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_EVALUATED(a, "(N + 127) / 128", "target == gpu && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2)")
KGEN_EVALUATED(a, "(N + 63) / 64", "target == gpu")
KGEN_EVALUATED(b, "(elements(a) / K + 127) / 128", "target == gpu && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2)")
KGEN_EVALUATED(b, "(elements(a) / K + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(a, "(target == cuda && (T == bf16 || T == f16)) || (architecture == sm_90a && (T == f8e4m3 || T == f8e5m2 || (T == f32 && numerics == tf32)))")
KGEN_IN_MEMORY(b, "architecture == sm_90a && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2 || (T == f32 && numerics == tf32))")
void grouped_matmul(const A& a, const B& b, const View<const I, 1>& ends, const C& c, Stream stream = {})
requires Number<source_lane_t<A, 2>> && Number<source_lane_t<first_of_t<B>, 3>> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512> && Allowed<LeastBits, 10, 13, 23>
{
  assert(ends.extent(0) <= most_groups);
  for_each_of(b, [&]([[maybe_unused]] const auto& each) {
    assert(a.shape()[1] == each.shape()[1] && ends.extent(0) == each.shape()[0]);
  });
  if (a.shape()[0] > 0) target::grouped_matmul<TileM, TileN, LeastBits>(a, b, ends, c, stream);
}

}  // namespace kgen
