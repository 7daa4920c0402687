// Attention that several tests compute, as shared_products.hpp has products.
#pragma once

#include "kgen/attention.hpp"
#include "kgen/paged_attention.hpp"
#include "shared.hpp"

#if defined(KGEN_WARPGROUPS)
namespace kgen::gpu {

#define KGEN_SHARED_ATTENTION(T, Mask, ...)                                                                          \
  KGEN_SHARED void attention(const View<const T, 4>&, const View<const T, 4>&, const View<const T, 4>&, const Mask&, \
                             double, const __VA_ARGS__&, const View<float, 4>&, Stream)
KGEN_SHARED_ATTENTION(float, NoMask, WholeAttention);
KGEN_SHARED_ATTENTION(bf16, NoMask, WholeAttention);
KGEN_SHARED_ATTENTION(bf16, NoMask, PagedAttention<std::int32_t, std::int64_t, WholeAttention>);
KGEN_SHARED_ATTENTION(bf16, NoMask, PagedAttention<std::int32_t, std::int64_t, LocalAttention>);
#undef KGEN_SHARED_ATTENTION

}  // namespace kgen::gpu
#endif
