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

// There is no instruction for it.
template <int Bytes>
KGEN_FN Block<Bytes> load_read_only(const void* from) {
  return *static_cast<const Block<Bytes>*>(from);
}

}  // namespace kgen::gpu
