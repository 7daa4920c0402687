// Matrix multiplication.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/matmul.hpp"
#else
#include "kgen/cpu/matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/known_product.hpp"
#include "kgen/row_statistics.hpp"
#include "kgen/rows.hpp"
#include "kgen/several.hpp"
#include "kgen/view.hpp"

namespace kgen {

// c[m, n] = sum over k of a[m, k] * b[k, n], accumulated in f32 (f64 for f64); integers wrap. a: [M, K], b: [K, N], c:
// [M, N]. Several right operands, each with an N of its own, are multiplied by one left operand that is read once.
// On the CPU a prologue is evaluated once for each element, as far as what it makes fits in memory set aside for it
// (one of b anew for each block of a); on a GPU once for each tile of c beside another. These are of 128 x 128 elements
// where a or b, or one of several b, lies in memory and is of bf16, f16 or 8 bits: every architecture has matrix cores
// for that, which multiply what the others come to be as they come (gpu/wave_matmul.hpp), NVIDIA's two to four times as
// fast where that is matrices in memory. Else they are of 64 x 64, without matrix cores. But a prologue of b that reads
// weights of few bits down their columns is evaluated on Hopper once: with few rows of a on the way to the
// tensor cores, with more of them in memory set aside for that. An epilogue is evaluated once for each result; numbers
// of rows that it uses are made by a launch ahead. Statistics of c's rows are made of its tiles on Hopper where they
// have 128 rows and whole vectors of short elements; else, and where blocks share the depth of tiles, of c in memory by
// a launch behind.
// Right, MostRows: what is known of the operands (kgen/known_product.hpp). TileM: the least rows of c that a thread of
// the CPU computes at a time; TileN: its columns. LeastBits: how many bits of mantissa are kept at least of what is
// multiplied, and of sums over a depth of 256: with 13, tensor cores may multiply floats of 8 bits; with 10, those of
// 32 bits as well (tf32). Degree: what a prologue of b makes of what it reads of fewest bits: with 1 a multiple, with 2
// a multiple and something more, so that a kernel may do that to sums. Columns: of a tile of more than 64 rows on
// Hopper; 0: what the sizes suggest. Library: with 1 cuBLASLt does plain products of bf16 and f16, of matrices in
// memory to one, and no others. It is for `kgen tune` to try: builds say whether they may link it.
template <int Right = any_layout, int MostRows = any_rows, int TileM = 96, int TileN = 256, int LeastBits = 13,
          int Degree = 0, int Columns = 0, int Library = 0, Source<2> A, SeveralSources<2, 8> B,
          SeveralSinks<source_lane_t<A, 2>, several_count<B>, 2> C>
KGEN_KERNEL(matmul)
KGEN_LAYOUT(Right, b, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_TUNED(TileM, "target == cpu") KGEN_TUNED(TileN, "target == cpu")
KGEN_TUNED(Columns, "architecture == sm_90a && (T == bf16 || T == f16)")
KGEN_TUNED(Library, "target == cuda && (T == bf16 || T == f16)")
KGEN_EVALUATED(a, "(N + 127) / 128", "target == gpu && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2)")
KGEN_EVALUATED(a, "(N + 63) / 64", "target == gpu")
KGEN_EVALUATED(b, "1", "architecture == sm_90a && (T == bf16 || T == f16) && degree(b) > 0 && elements(a) <= 64 * K")
KGEN_EVALUATED(b, "(elements(a) / K + 127) / 128", "target == gpu && (T == bf16 || T == f16 || T == f8e4m3 || T == f8e5m2)")
KGEN_EVALUATED(b, "(elements(a) / K + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(a, "(target == cuda && (T == bf16 || T == f16)) || (architecture == sm_90a && (T == f8e4m3 || T == f8e5m2 || (T == f32 && numerics == tf32)))")
KGEN_IN_MEMORY(b, "(target == cuda && (T == bf16 || T == f16) && degree(b) == 0) || (architecture == sm_90a && (T == f8e4m3 || T == f8e5m2 || (T == f32 && numerics == tf32)))")
KGEN_ROWS(c, "1", "architecture == sm_90a && (T == bf16 || T == f16) && elements(a) > K && elements(a) <= 16 * K && N <= 8192")
KGEN_STATISTICS(c, "architecture == sm_90a && (T == bf16 || T == f16)")
void matmul(const A& a, const B& b, const C& c, Stream stream = {})
requires Number<source_lane_t<A, 2>> && Number<source_lane_t<first_of_t<B>, 2>> &&
         Allowed<Right, any_layout, row_major, column_major> && Allowed<MostRows, any_rows, few_rows> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512> && Allowed<LeastBits, 10, 13, 23> &&
         Allowed<Degree, 0, 1, 2> && Allowed<Columns, 0, 128, 192, 256> && Allowed<Library, 0, 1>
{
  using Known = KnownProduct<Right, MostRows>;
  for_each_of(b, [&]([[maybe_unused]] const auto& each) { assert(a.shape()[1] == each.shape()[0]); });
  if constexpr (has_statistics<C>) {
#if defined(KGEN_GPU)
    if (target::matmul_with_statistics<LeastBits, Columns, Known>(a, b, c, stream)) return;
#endif
    target::matmul<TileM, TileN, LeastBits, Degree, Columns, Library, Known>(a, b, c.sink, stream);
    rows<1>(c.statistics.shape(), c.statistics, stream);
  } else {
    target::matmul<TileM, TileN, LeastBits, Degree, Columns, Library, Known>(a, b, c, stream);
  }
}

}  // namespace kgen
