// Products with right operands of bf16 in panels of pairs (pairs.hpp): tiles and the instructions for pairs read them
// as they lie. Of other left operands, of few rows, and without those instructions, the two of a pair are multiplied
// one after the other, as floats that a mask and a shift make of them: what codes that lie one by one take, too.
#pragma once

#include "kgen/cpu/packed_matmul.hpp"

namespace kgen::cpu {

// ---- packing

// The pairs of rows `depth` of one panel, whose first one is at `to`. Its columns are `count` of the source's from
// `first`. depth.begin is even.
template <class S>
void pack_pair_panel(Pair* to, const S& source, Range depth, std::int64_t first, std::int64_t count) {
  to += depth.begin / 2 * panel_columns;
  for (std::int64_t k = depth.begin; k < depth.end; k += 2, to += panel_columns) {
    bf16 rows[2][panel_columns] = {};
    for (int i = 0; i < 2 && k + i < depth.end; ++i) {
      const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
        store_elements(rows[i] + j, source.template load<W>(Index<2>{k + i, first + j}));
      };
      for_each_lane(0, count, step);
    }
    for (int j = 0; j < panel_columns; ++j) to[j] = pair_of(rows[0][j], rows[1][j]);
  }
}

template <class B>
void pack_pairs(const B& b, const View<bf16, 3>& panels, Stream stream) {
  const std::int64_t K = b.shape()[0], pairs = pairs_of(K);
  const auto pack = [&](std::int64_t panel, Range depth, std::int64_t first, std::int64_t count) {
    Pair* to = reinterpret_cast<Pair*>(panels.data()) + panel * pairs * panel_columns;
    if constexpr (is_bf16_memory<B>) {
      if (is_transposed(b)) {
        return pack_pairs_along_depth<panel_columns>(to + depth.begin / 2 * panel_columns,
                                                     b.data() + first * b.stride(1), b.stride(1), K,
                                                     Range{depth.begin / 2, pairs_of(depth.end)}, count);
      }
    }
    pack_pair_panel(to, b, depth, first, count);
  };
  for_each_piece(b, sizeof(bf16), stream, pack);
}

// ---- multiplying

template <int TileM, int TileN, class A, class P, class C>
void packed_pair_matmul(const A& a, const P& panels, std::int64_t padding, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  constexpr int most_rows = RegisterTile<T>::rows;
  const std::int64_t M = a.shape()[0], pairs = pairs_of(a.shape()[1]);
  with_panels<Pair>(a, panels, padding, stream, [&](const auto& data, const auto& columns, int threads) {
    if constexpr (has_tiles<Pair> && is_bf16_memory<A>) {
      if (M > 8 && fits_tiles(a)) {
        constexpr int rows = RegisterTile<T, TilePair>::rows;
        return multiply_packed<rows, TileM, TileN, T, TilePair>(a, data, columns, pairs, c, threads);
      }
    }
    if constexpr (has_pairs && is_bf16_memory<A>) {
      if (M > 8 && lies_in_lines(a) && pairs_pay()) {
        return multiply_packed<most_rows, TileM, TileN, T, Pair>(a, data, columns, pairs, c, threads);
      }
    }
    with_row_panels<most_rows, 8>(
        M, [&]<int Rows>() { multiply_packed<Rows, TileM, TileN, T>(a, data, columns, pairs, c, threads); });
  });
}

}  // namespace kgen::cpu
