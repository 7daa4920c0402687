// Transposing in registers: squares of N x N elements are N loads, log2(N) rounds in which pairs of lines are
// interleaved, and N stores. Every line of the source and of the result is moved whole, where element by element each
// would be touched N times: 16 x 16 floats are 16 loads, 64 permutations and 16 stores instead of 256 of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kgen/platform.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

// Elements along the edge of a square: those of a register, of which sixteen are at hand.
template <std::size_t Bytes>
inline constexpr int square_edge = std::min(16, register_bytes / static_cast<int>(Bytes));

template <class Line, int... I>
KGEN_FN void interleave(const Line& a, const Line& b, Line& low, Line& high, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  low = __builtin_shufflevector(a, b, (I / 2 + I % 2 * n)...);
  high = __builtin_shufflevector(a, b, (n / 2 + I / 2 + I % 2 * n)...);
}
// to[j * to_line + i] = from[i * from_line + j] for all i and j below the edge.
template <class T>
KGEN_FN void turn_square(const T* from, std::int64_t from_line, T* to, std::int64_t to_line) {
  constexpr int edge = square_edge<sizeof(T)>;
  typedef kgen::detail::SignedOf<sizeof(T)> Line __attribute__((vector_size(sizeof(T) * edge)));
  Line lines[edge], turned[edge];
  KGEN_UNROLL
  for (int i = 0; i < edge; ++i) std::memcpy(&lines[i], from + i * from_line, sizeof(Line));
  // Each round is a perfect shuffle of the whole: after log2(edge) of them rows have become columns.
  KGEN_UNROLL
  for (int round = 1; round < edge; round *= 2) {
    KGEN_UNROLL
    for (int i = 0; i < edge / 2; ++i) {
      interleave(lines[i], lines[i + edge / 2], turned[2 * i], turned[2 * i + 1],
                 std::make_integer_sequence<int, edge>{});
    }
    KGEN_UNROLL
    for (int i = 0; i < edge; ++i) lines[i] = turned[i];
  }
  KGEN_UNROLL
  for (int i = 0; i < edge; ++i) std::memcpy(to + i * to_line, &lines[i], sizeof(Line));
}

// to[j * to_line + i] = from[i * from_line + j] for i below `lines` and j below `length`. Not inlined: a stub that
// turns several operands of one size has it once.
template <class T>
[[gnu::noinline]] void turn(const T* from, std::int64_t from_line, T* to, std::int64_t to_line, std::int64_t lines,
                            std::int64_t length) {
  constexpr int edge = square_edge<sizeof(T)>;
  const std::int64_t whole_lines = lines / edge * edge, whole_length = length / edge * edge;
  for (std::int64_t i = 0; i < whole_lines; i += edge) {
    for (std::int64_t j = 0; j < whole_length; j += edge) {
      turn_square(from + i * from_line + j, from_line, to + j * to_line + i, to_line);
    }
  }
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = i < whole_lines ? whole_length : 0; j < length; ++j) {
      to[j * to_line + i] = from[i * from_line + j];
    }
  }
}

}  // namespace kgen::cpu
