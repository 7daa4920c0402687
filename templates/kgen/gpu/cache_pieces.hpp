// What lies in caches of keys and values, as tensor cores take it: elements of 16 bits as they are, those of 8 bits
// converted on the way, exactly.
#pragma once

#include <type_traits>

#include "kgen/gpu/attention_scores.hpp"
#include "kgen/gpu/code_pairs.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Two floats of 8 bits, the first in the lower byte of `codes`, as a pair of T.
template <class T, class Cached>
KGEN_FN std::uint32_t converted_pair(std::uint32_t codes) {
  float two[2];
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  widen_pair<Cached>(codes, two[0], two[1]);
#else
  Cached elements[2];
  memcpy(elements, &codes, sizeof(elements));
  for (int i = 0; i < 2; ++i) two[i] = elements[i];
#endif
  return as_pair<T>(two);
}

// Pieces of 16 bytes.
template <class T, class Cached>
struct CachePieces {
  static constexpr int elements = 16 / static_cast<int>(sizeof(Cached)), parts = elements / 8;

  // Elements 8 * part and on.
  KGEN_FN static Block<16> eight(const Block<16>& piece, int part) {
    if constexpr (std::is_same_v<T, Cached>) {
      return piece;
    } else {
      Block<16> converted;
      KGEN_UNROLL
      for (int i = 0; i < 4; ++i) {
        converted.words[i] = converted_pair<T, Cached>(piece.words[part * 2 + i / 2] >> i % 2 * 16 & 0xffffu);
      }
      return converted;
    }
  }
  // Element i of one piece and of another, as a pair.
  KGEN_FN static std::uint32_t pair(const Block<16>& first, const Block<16>& second, int i) {
    if constexpr (std::is_same_v<T, Cached>) {
      return i % 2 == 0 ? join_halves<false>(first.words[i / 2], second.words[i / 2])
                        : join_halves<true>(first.words[i / 2], second.words[i / 2]);
    } else {
      const std::uint32_t low = first.words[i / 4] >> i % 4 * 8, high = second.words[i / 4] >> i % 4 * 8;
      return converted_pair<T, Cached>((low & 0xffu) | (high & 0xffu) << 8);
    }
  }
};

}  // namespace kgen::gpu

#endif
