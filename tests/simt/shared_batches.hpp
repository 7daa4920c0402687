// Batches and groups of products that several tests compute, as shared_products.hpp has products.
#pragma once

#include "kgen/batched_matmul.hpp"
#include "kgen/grouped_matmul.hpp"
#include "shared.hpp"

#if defined(KGEN_WARPGROUPS)
namespace kgen::gpu {

#define KGEN_SHARED_BATCHES(T, R)                                                                                \
  KGEN_SHARED void batched_matmul<96, 256, 13, KnownProduct<>>(const View<const T, R>&, const View<const T, R>&, \
                                                               const View<float, R>&, Stream)
KGEN_SHARED_BATCHES(bf16, 3);
KGEN_SHARED_BATCHES(bf16, 4);
KGEN_SHARED_BATCHES(float, 3);
#undef KGEN_SHARED_BATCHES

#define KGEN_SHARED_GROUPS(T)                                                                    \
  KGEN_SHARED void grouped_matmul<96, 256, 13>(const View<const T, 2>&, const View<const T, 3>&, \
                                               const View<const std::int64_t, 1>&, const View<float, 2>&, Stream)
KGEN_SHARED_GROUPS(bf16);
KGEN_SHARED_GROUPS(float);
#undef KGEN_SHARED_GROUPS

}  // namespace kgen::gpu
#endif
