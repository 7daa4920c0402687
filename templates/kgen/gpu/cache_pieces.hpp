// What lies in caches of keys and values, as tensor cores take it: elements of 16 bits as they are, those of 8 bits as
// f16, which is exact and one instruction for two of them. bf16 took four, which was more than a wave has time for: 32
// heads of 8, 8192 keys, batch 64 took 339 us, where memory brings them in 240.
#pragma once

#include <bit>
#include <type_traits>

#include "kgen/gpu/attention_scores.hpp"
#include "kgen/gpu/code_pairs.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Two floats of 8 bits, the first in the lower byte of `codes`, as a pair of f16.
template <class Cached>
KGEN_FN std::uint32_t half_pair(std::uint32_t codes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  return widen_to_halves<Cached>(codes);
#else
  Cached elements[2];
  memcpy(elements, &codes, sizeof(elements));
  const float two[2] = {elements[0], elements[1]};
  return as_pair<f16>(two);
#endif
}

// What is multiplied by keys and values of type Cached, and how it keeps within the range of f16: rows of queries are
// scaled by powers of two, so that the greatest of a row has not many bits above it, and weights, at most 1, by
// another.
template <class T, class Cached>
struct CacheOperand {
  static constexpr bool converts = !std::is_same_v<T, Cached>;
  using type = std::conditional_t<converts, f16, T>;
  static constexpr float weight_scale = converts ? 16384.0f : 1.0f;
};
struct RowScale {
  float scale = 1, back = 1;  // back: 1 / scale

  // Of a row whose greatest element has this magnitude; infinity and NaN stay what they are.
  KGEN_FN static RowScale of(float greatest) {
    constexpr std::uint32_t bias = 127, most = 2 * bias - 1, wanted = 2 * bias + 14, special = 255;
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(greatest) >> 23;
    if (exponent >= special) return {};
    const std::uint32_t raise = wanted - exponent < most ? wanted - exponent : most;
    return {std::bit_cast<float>(raise << 23), std::bit_cast<float>((2 * bias - raise) << 23)};
  }
};

// Pieces of 16 bytes.
template <class Cached>
struct CachePieces {
  static constexpr bool converts = sizeof(Cached) == 1;
  static constexpr int elements = 16 / static_cast<int>(sizeof(Cached)), parts = elements / 8;

  // Elements 8 * part and on.
  KGEN_FN static Block<16> eight(const Block<16>& piece, int part) {
    if constexpr (!converts) {
      return piece;
    } else {
      Block<16> converted;
      KGEN_UNROLL
      for (int i = 0; i < 4; ++i) {
        converted.words[i] = half_pair<Cached>(piece.words[part * 2 + i / 2] >> i % 2 * 16 & 0xffffu);
      }
      return converted;
    }
  }
  // Element i of one piece and of another, as a pair.
  KGEN_FN static std::uint32_t pair(const Block<16>& first, const Block<16>& second, int i) {
    if constexpr (!converts) {
      return i % 2 == 0 ? join_halves<false>(first.words[i / 2], second.words[i / 2])
                        : join_halves<true>(first.words[i / 2], second.words[i / 2]);
    } else {
      return half_pair<Cached>(join_bytes(first.words[i / 4], second.words[i / 4], i % 4));
    }
  }
};

}  // namespace kgen::gpu

#endif
