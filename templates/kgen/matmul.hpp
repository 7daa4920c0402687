// Matrix multiplication.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/matmul.hpp"
#else
#include "kgen/cpu/matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/several.hpp"
#include "kgen/view.hpp"

namespace kgen {

// c[m, n] = sum over k of a[m, k] * b[k, n], accumulated in f32 (f64 for f64). a: [M, K], b: [K, N], c: [M, N]. Several
// right operands, each with an N of its own, are multiplied by one left operand that is read once.
// A prologue is evaluated once for each element of its operand, as far as the packed copy fits in memory set aside for
// it, and an epilogue once for each element of the result. TileM and TileN: extents of the piece of c that a thread
// computes at a time.
template <int TileM = 96, int TileN = 256, Source<2> A, SeveralSources<2, 8> B,
          SeveralSinks<source_lane_t<A, 2>, several_count<B>, 2> C>
KGEN_KERNEL(matmul)
void matmul(const A& a, const B& b, const C& c, Stream stream = {})
requires Float<source_lane_t<A, 2>> && Float<source_lane_t<first_of_t<B>, 2>> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  for_each_of(b, [&]([[maybe_unused]] const auto& each) { assert(a.shape()[1] == each.shape()[0]); });
  target::matmul<TileM, TileN>(a, b, c, stream);
}

}  // namespace kgen
