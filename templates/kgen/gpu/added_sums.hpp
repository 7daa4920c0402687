// Sums that threads add up in shared memory, on their way to a sink.
#pragma once

#include "kgen/gpu/layout.hpp"

namespace kgen::gpu {

// A thread's part of a tile's results, in pieces of 4 neighbours of a row.
struct PieceRange {
  int first, end, step;
};

// Gives the sink pieces of a tile of rows of `Own` columns of each of several products, whose first column is `column`,
// as far as `end`. Whole: these are multiples of a piece, and the sink takes them as such, else one by one: its code,
// which may be long, stands here once. add(row, place): 4 neighbours from `place` on, where product number I has its
// columns from I * Own on.
template <bool Whole, int Own, class Add, class C, int... I>
KGEN_FN void emit_added(const Add& add, const C& c, int column, int end, PieceRange pieces,
                        std::integer_sequence<int, I...>) {
  constexpr int lanes = 4, of_row = Own / lanes;
  for (int i = pieces.first; i < pieces.end; i += pieces.step) {
    const int row = i / of_row, of_tile = i % of_row * lanes;
    const Index<2> at{row, column + of_tile};
    if (at[1] >= end) continue;
    if constexpr (Whole) {
      store_to(c, at, add(row, I * Own + of_tile)...);
    } else {
      float sums[sizeof...(I)][lanes];
      (store_lanes(sums[I], add(row, I * Own + of_tile)), ...);
      KGEN_NO_UNROLL
      for (int lane = 0; lane < lanes && at[1] + lane < end; ++lane) {
        store_to(c, Index<2>{row, at[1] + lane}, Vec<float, 1>(chosen(sums[I], lane))...);
      }
    }
  }
}

}  // namespace kgen::gpu
