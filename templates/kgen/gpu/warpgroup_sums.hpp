// What a warpgroup multiplies, and what becomes of its sums: operands in shared memory, and which sums a thread has.
#pragma once

#include "kgen/gpu/emit_sums.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// The descriptor of what lies so many bytes behind. Addresses are in its lower word, which they do not leave: so much
// the compiler does not know, and adds to the upper one as well.
KGEN_FN std::uint64_t moved_descriptor(std::uint64_t descriptor, int bytes) {
  constexpr std::uint64_t lower = 0xffffffff;
  return (descriptor & ~lower) | ((descriptor + static_cast<std::uint64_t>(bytes / 16)) & lower);
}

// 32 bytes of depth, from k on, of an operand in boxes of `Lines` lines of 128 bytes, one box after the other. Deep: its
// lines are along the depth; else 64 of its rows or columns make a line, and another box has the next 64.
template <class T, int Lines, bool Deep>
KGEN_FN std::uint64_t boxed_operand(const T* tile, int k) {
  constexpr int size = static_cast<int>(sizeof(T)), line = swizzle_bytes / size, lines_of_8 = 8 * swizzle_bytes;
  if constexpr (Deep) {
    const int bytes = k / line * Lines * swizzle_bytes + k % line * size;
    return moved_descriptor(descriptor(tile, 16, lines_of_8), bytes);
  } else {
    return moved_descriptor(descriptor(tile, Lines * swizzle_bytes, lines_of_8), k * swizzle_bytes);
  }
}

// Of sums of 64 rows and N columns that wgmma made: 4 neighbouring threads have 32 columns of a row.
template <int N>
struct WarpgroupSums {
  static constexpr int lanes = 8, step_columns = 4 * lanes, of_row = N / step_columns;
  static constexpr int rows = 64, columns = N, steps = 2 * of_row;
  static constexpr bool is_of_quads = true;

  template <class Sum>
  KGEN_FN static Sum sum(const Sum (&sums)[N / 2], int step, int lane) {
    return sums[(step % of_row * step_columns / lanes + lane / 2) * 4 + step / of_row * 2 + lane % 2];
  }
  template <class Sum>
  KGEN_FN static void gather(Sum (&own)[lanes]) {
    transpose_pairs<1>(own);
  }
  KGEN_FN static std::int64_t first_row(Index<2> origin, int step) {
    return origin[0] + thread_index() % warpgroup_threads / wave_size * 16 + step / of_row * 8;
  }
  KGEN_FN static Index<2> position(Index<2> origin, int step) {
    const int thread = thread_index() % warpgroup_threads;
    return {origin[0] + thread / wave_size * 16 + thread % wave_size / 4 + step / of_row * 8,
            origin[1] + step % of_row * step_columns + thread % 4 * lanes};
  }
};

template <TileEnd End, int N, int AtOnce = N, class Sum, int Count, class C>
KGEN_FN void emit_sums(const Sum (&sums)[Count][N / 2], const C& c, Index<2> origin, Index<2> extents) {
  emit_in_steps<WarpgroupSums<N>, End, AtOnce>(sums, c, origin, extents);
}

}  // namespace kgen::gpu

#endif
