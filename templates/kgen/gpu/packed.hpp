// How bytes that hold several elements are written.
#pragma once

#include <cstdint>

#include "kgen/gpu/device.hpp"
#include "kgen/platform.hpp"

namespace kgen::gpu {

KGEN_FN void store_byte(std::uint8_t* to, std::uint8_t bits) {
#if defined(KGEN_SIMT)
  simt::access(to, 1);
#endif
  *to = bits;
}

// Of a byte the bits of the mask alone, whatever other threads write to its other bits meanwhile. The device has atomic
// operations on words of 32 bits: memory is allocated in more than these.
KGEN_FN void store_bits(std::uint8_t* to, std::uint8_t mask, std::uint8_t bits) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  auto* word = reinterpret_cast<unsigned*>(address / 4 * 4);
  const auto place = static_cast<unsigned>(address % 4 * 8);
  atomicAnd(word, ~(static_cast<unsigned>(mask) << place));
  atomicOr(word, static_cast<unsigned>(bits & mask) << place);
#else
#if defined(KGEN_SIMT)
  simt::access(to, 1);
#endif
  const std::uint8_t old = __atomic_load_n(to, __ATOMIC_RELAXED);
  __atomic_fetch_xor(to, static_cast<std::uint8_t>((old ^ bits) & mask), __ATOMIC_RELAXED);
#endif
}

}  // namespace kgen::gpu
