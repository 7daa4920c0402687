// Bytes that hold several elements: how they are written, and how many elements of 4 bits are read at once.
#pragma once

#include <cstdint>
#include <cstring>

#include "kgen/platform.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

KGEN_FN void store_byte(std::uint8_t* to, std::uint8_t bits) { *to = bits; }

// Of a byte the bits of the mask alone, whatever other threads write to its other bits meanwhile.
KGEN_FN void store_bits(std::uint8_t* to, std::uint8_t mask, std::uint8_t bits) {
  const std::uint8_t old = __atomic_load_n(to, __ATOMIC_RELAXED);
  __atomic_fetch_xor(to, static_cast<std::uint8_t>((old ^ bits) & mask), __ATOMIC_RELAXED);
}

// Whether W elements of so many bits are read by load_halves.
template <int W, int Bits>
inline constexpr bool reads_halves = Bits == 4 && (W == 8 || W == 16);

// The halves of W / 2 bytes, the lower one first: a load, two masks, a shift and one interleaving. As a word that is
// shifted by another number in each of 32-bit lanes, 16 of them took some 40 instructions.
template <int W>
KGEN_FN Vec<std::uint8_t, W> load_halves(const std::uint8_t* from) {
  typedef std::uint8_t Bytes __attribute__((vector_size(16)));
  typedef std::uint64_t Words __attribute__((vector_size(16)));
  std::uint64_t word = 0;
  std::memcpy(&word, from, W / 2);
  const Bytes bytes = (Bytes)Words{word, 0};
  const Bytes low = bytes & 15, high = bytes >> 4;
  const Bytes both = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  Vec<std::uint8_t, W> result;
  std::memcpy(&result, &both, W);
  return result;
}

}  // namespace kgen::cpu
