// Elements of few bits as pairs of a type that tensor cores take, exactly and a word at a time.
#pragma once

#include <cstring>

#include "kgen/gpu/device.hpp"
#include "kgen/types.hpp"

namespace kgen::gpu {

// The differences of both elements of pairs, the first in the lower half of the word, rounded as T.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <class T>
KGEN_FN std::uint32_t subtract_pairs(std::uint32_t a, std::uint32_t b) {
  std::uint32_t pair;
  if constexpr (std::is_same_v<T, bf16>) {
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  } else {
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  }
  return pair;
}
#else
template <class T>
KGEN_FN std::uint32_t subtract_pairs(std::uint32_t a, std::uint32_t b) {
  T left[2], right[2], made[2];
  memcpy(left, &a, sizeof(a));
  memcpy(right, &b, sizeof(b));
  for (int i = 0; i < 2; ++i) made[i] = T(static_cast<float>(left[i]) - static_cast<float>(right[i]));
  std::uint32_t pair = 0;
  memcpy(&pair, made, sizeof(pair));
  return pair;
}
#endif

// (a & b) ^ c in one instruction: of two constants the device wants one in a register, which compilers undo.
KGEN_FN std::uint32_t mask_and_turn(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  std::uint32_t word;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(word) : "r"(a), "r"(b), "r"(c));
  return word;
#else
  return (a & b) ^ c;
#endif
}

// The lower, or the `Upper`, halves of two words, the first word's in the lower half.
template <bool Upper>
KGEN_FN std::uint32_t join_halves(std::uint32_t first, std::uint32_t second) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(first, second, Upper ? 0x7632 : 0x5410);
#else
  return Upper ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
#endif
}

// Byte `at` of two words as the lower two bytes of one, the first word's first; the others may be anything.
KGEN_FN std::uint32_t join_bytes(std::uint32_t first, std::uint32_t second, int at) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(first, second, static_cast<unsigned>(at | (4 + at) << 4));
#else
  return (first >> 8 * at & 0xffu) | (second >> 8 * at & 0xffu) << 8;
#endif
}

// A number in both halves of a word.
template <class T>
KGEN_FN constexpr std::uint32_t pair_of(float value) {
  return T(value).bits * 0x10001u;
}

// A word of elements of Q as pairs of T: pair i has element i and the one half a word behind it, for that takes no
// instruction to bring them together. `one`: the code that stands for 1; that of 0 is 0.
template <class T, class Q>
struct CodePairs {
  static constexpr bool exist = false;
};

// Integers are put in place of the last bits of a power of two's mantissa: with the sign turned over that is so much
// more than the integer.
template <class T, class Q>
requires(is_packed_integer<Q> && (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)) struct CodePairs<T, Q> {
  static constexpr bool exist = true;
  static constexpr int bits = element_bits<Q>, elements = 32 / bits, pairs = elements / 2;
  static constexpr std::uint32_t one = 1;

  // By how much raised pairs are more than the integers; and whether sums of products by them keep the precision of T.
  static constexpr std::uint32_t sign = std::is_signed_v<compute_t<Q>> ? 1u << (bits - 1) : 0;
  static constexpr float power = std::is_same_v<T, bf16> ? 128.0f : 1024.0f, raised = power + static_cast<float>(sign);
  static constexpr bool raised_is_precise = std::is_same_v<T, bf16>;

  KGEN_FN static void convert_raised(std::uint32_t word, std::uint32_t (&to)[pairs]) {
    constexpr std::uint32_t mask = ((1u << bits) - 1) * 0x10001u;
    KGEN_UNROLL
    for (int i = 0; i < pairs; ++i) to[i] = mask_and_turn(word >> bits * i, mask, pair_of<T>(power) ^ sign * 0x10001u);
  }
  KGEN_FN static void convert(std::uint32_t word, std::uint32_t (&to)[pairs]) {
    convert_raised(word, to);
    KGEN_UNROLL
    for (int i = 0; i < pairs; ++i) to[i] = subtract_pairs<T>(to[i], pair_of<T>(raised));
  }
};

// Neighbours of T in words as the same pairs of them: of as many elements as a word of a type of `Elements` has.
template <int Elements>
KGEN_FN void pair_up(const std::uint32_t* words, std::uint32_t (&to)[Elements / 2]) {
  KGEN_UNROLL
  for (int i = 0; i < Elements / 2; ++i) {
    const std::uint32_t first = words[i / 2], second = words[i / 2 + Elements / 4];
    to[i] = i % 2 == 0 ? join_halves<false>(first, second) : join_halves<true>(first, second);
  }
}

}  // namespace kgen::gpu
