// The part of kgen/gpu/device.hpp that is AMD's own.
#pragma once

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

// As other memory: what the hints would gain has not been measured.
template <int Bytes>
KGEN_FN Block<Bytes> load_global(const void* from) {
  return *static_cast<const Block<Bytes>*>(from);
}
template <int Bytes>
KGEN_FN Block<Bytes> load_constant(const void* from) {
  return load_global<Bytes>(from);
}
template <int Bytes>
KGEN_FN void store_global(void* to, const Block<Bytes>& block) {
  *static_cast<Block<Bytes>*>(to) = block;
}
template <int Bytes>
KGEN_FN void store_shared(void* to, const Block<Bytes>& block) {
  *static_cast<Block<Bytes>*>(to) = block;
}

}  // namespace kgen::gpu
