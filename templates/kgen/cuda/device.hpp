// The part of kgen/gpu/device.hpp that is NVIDIA's own, through CUDA or HIP.
#pragma once

namespace kgen::gpu {

inline constexpr int wave_size = 32;

// The lanes of this thread's group of `width`, as a mask of the wave.
KGEN_FN unsigned group_mask(int width) {
  return (width == 32 ? ~0u : (1u << width) - 1) << (threadIdx.x % 32 / width * width);
}
KGEN_FN std::uint32_t shuffle_xor(std::uint32_t word, int distance, int width, Where) {
  return __shfl_xor_sync(group_mask(width), word, distance, width);
}
KGEN_FN std::uint32_t shuffle_from(std::uint32_t word, int lane, int width, Where) {
  return __shfl_sync(group_mask(width), word, lane, width);
}

template <class Unit, int Bytes>
KGEN_FN Block<Bytes> load_units(const void* from) {
  Block<Bytes> block;
  KGEN_UNROLL
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(Unit)); ++i) {
    const Unit unit = __ldg(static_cast<const Unit*>(from) + i);
    memcpy(reinterpret_cast<unsigned char*>(&block) + i * sizeof(Unit), &unit, sizeof(Unit));
  }
  return block;
}
template <int Bytes>
KGEN_FN Block<Bytes> load_read_only(const void* from) {
  if constexpr (Bytes >= 16) {
    return load_units<uint4, Bytes>(from);
  } else if constexpr (Bytes == 8) {
    return load_units<uint2, Bytes>(from);
  } else if constexpr (Bytes == 4) {
    return load_units<unsigned, Bytes>(from);
  } else if constexpr (Bytes == 2) {
    return load_units<unsigned short, Bytes>(from);
  } else {
    return load_units<unsigned char, Bytes>(from);
  }
}

template <int Bytes>
KGEN_FN void store_streaming(void* to, const Block<Bytes>& block) {
  if constexpr (Bytes >= 16) {
    KGEN_UNROLL
    for (int i = 0; i < Bytes / 16; ++i) {
      const std::uint32_t* words = block.words + 4 * i;
      __stcs(static_cast<uint4*>(to) + i, make_uint4(words[0], words[1], words[2], words[3]));
    }
  } else {
    *static_cast<Block<Bytes>*>(to) = block;
  }
}

}  // namespace kgen::gpu
