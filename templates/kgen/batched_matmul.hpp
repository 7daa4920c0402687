// Products of batches of matrices.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/batched_matmul.hpp"
#else
#include "kgen/cpu/batched_matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/known_product.hpp"
#include "kgen/view.hpp"

namespace kgen {

// c[..., m, n] = sum over k of a[..., m, k] * b[..., k, n], accumulated in f32 (f64 for f64). a: [..., M, K],
// b: [..., K, N], c: [..., M, N]. Leading axes are aligned at the last; those of extent 1, and those that are missing,
// repeat.
// A prologue is evaluated for each product that its element takes part in: there once on the CPU, and on a GPU once for
// each tile of that product beside another, as matmul's. An epilogue is evaluated once for each element of the
// result. Right: what is known of b (kgen/known_product.hpp). TileM, TileN and LeastBits: as matmul's.
template <int Right = any_layout, int TileM = 96, int TileN = 256, int LeastBits = 13, AnySource A, AnySource B,
          Sink<source_lane_t<A, source_rank<A>>, product_rank<A, B>> C>
KGEN_KERNEL(matmul, "rank(b) > 2")
KGEN_LAYOUT(Right, b, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_EVALUATED(a, "elements(out) / N * K / elements(a) * ((N + 127) / 128)", "target == gpu && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2)")
KGEN_EVALUATED(a, "elements(out) / N * K / elements(a) * ((N + 63) / 64)", "target == gpu")
KGEN_EVALUATED(a, "elements(out) / N * K / elements(a)")
KGEN_EVALUATED(b, "elements(out) / M * K / elements(b) * ((M + 127) / 128)", "target == gpu && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2)")
KGEN_EVALUATED(b, "elements(out) / M * K / elements(b) * ((M + 63) / 64)", "target == gpu")
KGEN_EVALUATED(b, "elements(out) / M * K / elements(b)")
KGEN_IN_MEMORY(a, "(target == cuda && (T == bf16 || T == f16)) || (architecture == sm_90a && (T == f8e4m3 || T == f8e5m2 || (T == f32 && numerics == tf32)))")
KGEN_IN_MEMORY(b, "(target == cuda && (T == bf16 || T == f16)) || (architecture == sm_90a && (T == f8e4m3 || T == f8e5m2 || (T == f32 && numerics == tf32)))")
void batched_matmul(const A& a, const B& b, const C& c, Stream stream = {})
requires Number<source_lane_t<A, source_rank<A>>> && Number<source_lane_t<B, source_rank<B>>> &&
         (source_rank<A> >= 2) && (source_rank<B> >= 2) &&
         Allowed<Right, any_layout, row_major, column_major> && Allowed<TileM, 48, 96, 192> &&
         Allowed<TileN, 128, 256, 512> && Allowed<LeastBits, 10, 13, 23>
{
  assert(last_axes<1>(a.shape())[0] == last_axes<2>(b.shape())[0]);
  target::batched_matmul<TileM, TileN, LeastBits, KnownProduct<Right>>(a, b, c, stream);
}

}  // namespace kgen
