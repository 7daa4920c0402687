// Sums that threads add up in shared memory, on their way to a sink.
#pragma once

#include "kgen/gpu/layout.hpp"

namespace kgen::gpu {

// The part of a tile's results that some threads give to a sink together: this one is number `thread` of `threads`.
struct PieceRange {
  int first, end;  // in pieces of 4 neighbours of a row
  int thread, threads;
};

// Gives the sink pieces of a tile of rows of `Own` columns of each of several products, whose first element stands at
// `origin`, as far as column `end`. Whole: these are multiples of a piece, and the sink takes them as such; else one by
// one, and neighbouring threads have neighbours. add(sums, count, rows, places): the first `count` of some of them,
// from a row's places on, where product number I has its columns from I * Own on: up to AtOnce are on their way
// together, and of a long sink, whose code then stands here once, as few as that.
template <bool Whole, int Own, int AtOnce, class Sum = float, class Add, class C, int... I>
KGEN_FN void emit_added(const Add& add, const C& c, Index<2> origin, int end, PieceRange pieces,
                        std::integer_sequence<int, I...>) {
  constexpr int lanes = Whole ? 4 : 1, of_row = Own / lanes, products = static_cast<int>(sizeof...(I));
  constexpr int at_once = view_count<C> <= 4 && products < AtOnce ? AtOnce / products : 1;
  const int last = pieces.end * (4 / lanes);
  KGEN_NO_UNROLL
  for (int first = pieces.first * (4 / lanes) + pieces.thread; first < last; first += at_once * pieces.threads) {
    Vec<Sum, lanes> sums[at_once * products];
    int rows[at_once * products], places[at_once * products];
    KGEN_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const int number = first + i * pieces.threads;
      ((rows[i * products + I] = number / of_row, places[i * products + I] = I * Own + number % of_row * lanes), ...);
    }
    add(sums, ((last - first - 1) / pieces.threads + 1) * products, rows, places);
    KGEN_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const int number = first + i * pieces.threads;
      const Index<2> at{origin[0] + number / of_row, origin[1] + number % of_row * lanes};
      if (number < last && at[1] < end) store_to(c, at, sums[i * products + I]...);
    }
  }
}

}  // namespace kgen::gpu
