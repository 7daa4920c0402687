// Squares of elements turned about their diagonal in registers.
#pragma once

#include <utility>

#include "kgen/vec.hpp"

namespace kgen::cpu {

// Of two rows, blocks of `Block` lanes in turn: the even (Odd = 0) or odd (Odd = 1) ones of both.
template <int Block, int Odd, class T, int W, int... I>
KGEN_FN Vec<T, W> blocks_of(const Vec<T, W>& a, const Vec<T, W>& b, std::integer_sequence<int, I...>) {
  Vec<T, W> result;
  // Lane I stands in block I / Block: those with even numbers come from a, and those with odd ones from b.
  result.data =
      __builtin_shufflevector(a.data, b.data, (I / Block % 2 == 0 ? I + Odd * Block : W + I + (Odd - 1) * Block)...);
  return result;
}

template <int Block, class T, int W>
KGEN_FN void exchange_blocks(Vec<T, W> (&rows)[W]) {
  constexpr auto lanes = std::make_integer_sequence<int, W>{};
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) {
    if (i / Block % 2 != 0) continue;
    const Vec<T, W> upper = rows[i], lower = rows[i + Block];
    rows[i] = blocks_of<Block, 0>(upper, lower, lanes);
    rows[i + Block] = blocks_of<Block, 1>(upper, lower, lanes);
  }
  if constexpr (2 * Block < W) exchange_blocks<2 * Block>(rows);
}

// Lane j of row i becomes lane i of row j. W vectors of W lanes, each one register: W log2(W) shuffles for W * W
// elements, which is a quarter of a shuffle for an element of a 64-byte register of floats, where moving single
// elements takes a store for each.
template <class T, int W>
KGEN_FN void transpose(Vec<T, W> (&rows)[W]) {
  if constexpr (W > 1) exchange_blocks<1>(rows);
}

// Lane i is the sum of the lanes of row i.
template <class T, int W>
KGEN_FN Vec<T, W> sums_of(Vec<T, W> (&rows)[W]) {
  transpose(rows);
  Vec<T, W> total = rows[0];
#pragma GCC unroll 16
  for (int i = 1; i < W; ++i) total = total + rows[i];
  return total;
}

}  // namespace kgen::cpu
