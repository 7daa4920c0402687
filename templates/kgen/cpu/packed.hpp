// How bytes that hold several elements are written.
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"

namespace kgen::cpu {

KGEN_FN void store_byte(std::uint8_t* to, std::uint8_t bits) { *to = bits; }

// Of a byte the bits of the mask alone, whatever other threads write to its other bits meanwhile.
KGEN_FN void store_bits(std::uint8_t* to, std::uint8_t mask, std::uint8_t bits) {
  const std::uint8_t old = __atomic_load_n(to, __ATOMIC_RELAXED);
  __atomic_fetch_xor(to, static_cast<std::uint8_t>((old ^ bits) & mask), __ATOMIC_RELAXED);
}

}  // namespace kgen::cpu
