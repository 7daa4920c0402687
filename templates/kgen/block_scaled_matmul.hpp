// Matrix multiplication of floats of 8 bits with scales of blocks.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/block_scaled_matmul.hpp"
#else
#include "kgen/cpu/matmul.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/scaled_blocks.hpp"

namespace kgen {

// c[m, n] = sum over k of a[m, k] * a_scale[m, k / 128] * b[k, n] * b_scale[k / 128, n / width], in f32. a: [M, K], b:
// [K, N], a_scale: [M, (K + 127) / 128], b_scale: [(K + 127) / 128, (N + width - 1) / width], c: [M, N]. On Hopper tensor
// cores add up 128 of the depth, of which they keep 13 bits of mantissa; b's columns are lines in memory, else they are
// laid out so in each call. An epilogue is evaluated once for each result.
template <Memory<2> A, Memory<2> B, Memory<2> RowScales, Memory<2> ColumnScales, Sink<float, 2> C>
KGEN_KERNEL(block_scaled_matmul, "architecture == sm_90a && numerics != match_unfused")
void block_scaled_matmul(const A& a, const B& b, const RowScales& a_scale, const ColumnScales& b_scale,
                         std::int64_t width, const C& c,
                         Stream stream = {}) requires OneOf<view_element_t<A>, f8e4m3> &&
    OneOf<view_element_t<B>, f8e4m3> && OneOf<view_element_t<RowScales>, float> &&
    OneOf<view_element_t<ColumnScales>, float> {
  assert(a.extent(1) == b.extent(0));
#if defined(KGEN_GPU)
  target::block_scaled_matmul(a, b, a_scale, b_scale, width, c, stream);
#else
  target::matmul<96, 256, 23>(scaled_rows(a, a_scale), scaled_columns(b, b_scale, width), c, stream);
#endif
}

}  // namespace kgen
