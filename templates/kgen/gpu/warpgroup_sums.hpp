// What a warpgroup multiplies, and what becomes of its sums: operands in shared memory, the order of tiles, and sums on
// their way from registers to a sink.
#pragma once

#include <bit>
#include <utility>

#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Tiles of rows x columns of a matrix, one after the other in bands of some rows of tiles: those that run at the same
// time read few rows and few columns.
struct TileOrder {
  int rows, columns, band = 16;

  KGEN_FN Index<2> operator()(int tile) const {
    const int first = tile / (band * columns) * band, height = rows - first < band ? rows - first : band;
    const int rest = tile - first * columns;
    return {first + rest % height, rest / height};
  }
};

// 32 bytes of depth, from k on, of an operand in boxes of `Lines` lines of 128 bytes, one box after the other. Deep: its
// lines are along the depth; else 64 of its rows or columns make a line, and another box has the next 64.
template <class T, int Lines, bool Deep>
KGEN_FN std::uint64_t boxed_operand(const T* tile, int k) {
  constexpr int size = static_cast<int>(sizeof(T)), line = swizzle_bytes / size, lines_of_8 = 8 * swizzle_bytes;
  // A descriptor counts addresses in 16 bytes: what is added to it is a constant to the compiler.
  if constexpr (Deep) {
    const int bytes = k / line * Lines * swizzle_bytes + k % line * size;
    return descriptor(tile, 16, lines_of_8) + static_cast<std::uint64_t>(bytes / 16);
  } else {
    return descriptor(tile, Lines * swizzle_bytes, lines_of_8) + static_cast<std::uint64_t>(k * swizzle_bytes / 16);
  }
}

// The 4 lanes of a quad have each 2 neighbours in 4 groups of 8 columns, lanes[2 * group + i]: afterwards lane i has
// all of group i.
KGEN_FN void gather_columns(float (&lanes)[8]) {
  const int lane = thread_index() % 4;
  KGEN_UNROLL
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool upper = (lane & bit) != 0;
    KGEN_UNROLL
    for (int group = 0; group < 4; ++group) {
      if ((group & bit) != 0) continue;
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        float &low = lanes[2 * group + i], &high = lanes[2 * (group + bit) + i];
        const float sent = upper ? low : high;
        const float got =
            std::bit_cast<float>(shuffle_xor(std::bit_cast<std::uint32_t>(sent), bit, wave_size, Where::here()));
        low = upper ? got : low;
        high = upper ? high : got;
      }
    }
  }
}

// Gives the sink what a warpgroup has of `Count` products, whose first elements stand at `origin`, as far as `extents`.
// Inside: all of them are within the extents, so that no branch keeps the sink's loads apart.
template <bool Inside, int N, int Count, class C, int... I>
KGEN_FN void emit_sums(const float (&sums)[Count][N / 2], const C& c, Index<2> origin, Index<2> extents,
                       std::integer_sequence<int, I...>) {
  constexpr int groups = 4, lanes_each = 8;
  const int thread = thread_index() % warpgroup_threads;
  const std::int64_t row = origin[0] + thread / wave_size * 16 + thread % wave_size / 4;
  KGEN_UNROLL
  for (int half = 0; half < 2; ++half) {
    KGEN_UNROLL
    for (int n = 0; n < N; n += groups * lanes_each) {
      float lanes[Count][lanes_each];
      KGEN_UNROLL
      for (int product = 0; product < Count; ++product) {
        KGEN_UNROLL
        for (int i = 0; i < lanes_each; ++i) {
          lanes[product][i] = sums[product][(n / lanes_each + i / 2) * 4 + half * 2 + i % 2];
        }
        gather_columns(lanes[product]);
      }
      const Index<2> at{row + half * 8, origin[1] + n + thread % groups * lanes_each};
      if (Inside || (at[0] < extents[0] && at[1] + lanes_each <= extents[1])) {
        store_to(c, at, load_lanes<lanes_each>(lanes[I])...);
      } else if (at[0] < extents[0]) {
        KGEN_NO_UNROLL
        for (int lane = 0; at[1] + lane < extents[1]; ++lane) {
          store_to(c, Index<2>{at[0], at[1] + lane}, Vec<float, 1>(chosen(lanes[I], lane))...);
        }
      }
    }
  }
}

}  // namespace kgen::gpu

#endif
