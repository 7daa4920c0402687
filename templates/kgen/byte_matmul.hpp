// Products of matrices of integers of 8 bits.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/byte_matmul.hpp"
#else
#include "kgen/cpu/matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/widened.hpp"

namespace kgen {

// c[m, n] = sum over k of a[m, k] * b[k, n], of integers of 8 bits with a sign or without; exact, but that sums wrap in
// 32 bits. a: [M, K], b: [K, N], c: [M, N]. Several right operands are multiplied by one left operand that is read once.
// Prologues and epilogues are evaluated as matmul's are. TileM, TileN: as matmul's.
template <int TileM = 96, int TileN = 256, Source<2> A, SeveralSources<2, 8> B,
          SeveralSinks<std::int32_t, several_count<B>, 2> C>
KGEN_KERNEL(byte_matmul)
KGEN_EVALUATED(a, "(N + 63) / 64", "target == gpu")
KGEN_EVALUATED(b, "(elements(a) / K + 63) / 64", "target == gpu")
KGEN_IN_MEMORY(a, "architecture == sm_90a")
KGEN_IN_MEMORY(b, "architecture == sm_90a")
void byte_matmul(const A& a, const B& b, const C& c, Stream stream = {})
requires Integer<source_lane_t<A, 2>> && Integer<source_lane_t<first_of_t<B>, 2>> &&
         Allowed<TileM, 48, 96, 192> && Allowed<TileN, 128, 256, 512>
{
  for_each_of(b, [&]([[maybe_unused]] const auto& each) { assert(a.shape()[1] == each.shape()[0]); });
#if defined(KGEN_GPU)
  target::byte_matmul(a, b, c, stream);
#else
  target::matmul<TileM, TileN, 23>(widened(a), with_each(b, [](const auto& each) { return widened(each); }), c, stream);
#endif
}

}  // namespace kgen
