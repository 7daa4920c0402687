// Matrices in memory turned about their diagonal, in squares that registers hold: every line of the source and of the
// result is moved whole, where element by element each would be touched as often as it has elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kgen/cpu/transpose.hpp"
#include "kgen/platform.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

// Elements along the edge of a square: those of a register, of which sixteen are at hand.
template <std::size_t Bytes>
inline constexpr int square_edge = std::min(16, register_bytes / static_cast<int>(Bytes));

// to[j * to_line + i] = from[i * from_line + j] for all i and j below the edge. Unrolled whatever the compiler thinks:
// in loops GCC kept the lines in memory, and read them back wider than it had written them, which waits for the stores.
template <class T>
KGEN_FN void turn_square(const T* from, std::int64_t from_line, T* to, std::int64_t to_line) {
  constexpr int edge = square_edge<sizeof(T)>;
  Vec<kgen::detail::SignedOf<sizeof(T)>, edge> lines[edge];
#pragma GCC unroll 16
  for (int i = 0; i < edge; ++i) std::memcpy(&lines[i].data, from + i * from_line, sizeof(lines[i].data));
  transpose(lines);
#pragma GCC unroll 16
  for (int i = 0; i < edge; ++i) std::memcpy(to + i * to_line, &lines[i].data, sizeof(lines[i].data));
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
