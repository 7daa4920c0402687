// The part of kgen/gpu/device.hpp that is AMD's own.
#pragma once

#include "kgen/gpu/plain_memory.hpp"  // what hints would gain has not been measured

namespace kgen::gpu {

#if defined(__GFX9__)
inline constexpr int wave_size = 64;
#else
inline constexpr int wave_size = 32;
#endif

KGEN_FN std::uint32_t shuffle_xor(std::uint32_t word, int distance, int width, Where) {
  return static_cast<std::uint32_t>(__shfl_xor(static_cast<int>(word), distance, width));
}
KGEN_FN std::uint32_t shuffle_from(std::uint32_t word, int lane, int width, Where) {
  return static_cast<std::uint32_t>(__shfl(static_cast<int>(word), lane, width));
}
KGEN_FN void wave_barrier(Where = Where::here()) { __builtin_amdgcn_wave_barrier(); }

}  // namespace kgen::gpu
