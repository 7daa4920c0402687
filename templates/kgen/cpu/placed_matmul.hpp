// Products of rows by few packed columns: the rows are multiplied where they lie (patches.hpp).
//
// Why: to pack an element of the left operand takes 0.4 cycles, and more where it comes from the last-level cache, to
// multiply it by 64 columns two. One thread of a Zen 5, weights from memory, medians in microseconds, packed and so:
// 3136x64x64 137 to 119, 3136x256x64 515 to 463, 3136x256x128 1000 to 968, 784x512x128 467 to 431, 12544x16x16 107 to
// 67, 12544x16x64 211 to 180, 3136x64x24 82 to 63, 784x120x40 49 to 42, 196x240x80 38 to 36, 196x672x112 139 to 135.
// With more columns packed rows win, which come from the second-level cache again for each 32 of them: 196x80x480 70
// and 79, 196x112x672 131 and 147, 128x768x768 677 and 687.
//
// Rows outside and columns inside, with the sums of 12 rows in the first-level cache, whether given to the sink row by
// row or with each register tile, took longer (3136x64x64 147, 12544x16x64 226), also where results had left the caches
// (12544x16x64 260 to 508 with each register tile): memory takes whole rows of the result, one behind the other.
#pragma once

#include "kgen/cpu/matmul.hpp"
#include "kgen/cpu/patches.hpp"

namespace kgen::cpu {

// Some rows of a left operand: where they lie, or, if that is no memory or all of them would share one set of the
// first-level cache after another, in a copy.
template <class T>
struct PlacedRows {
  const T* data;
  const std::int64_t* places;  // `padded` of them, the last row's again and again

  template <class A>
  static PlacedRows of(const A& a, Range rows, std::int64_t padded) {
    std::int64_t* places = scratch<std::int64_t>(5, padded);
    const std::int64_t K = a.shape()[1], count = rows.end - rows.begin;
    const auto place = [&](std::int64_t pitch) {
      for (std::int64_t i = 0; i < padded; ++i) places[i] = std::min(i, count - 1) * pitch;
    };
    if (is_read_in_place<T>(a)) {
      const LeftRows<T> lying = rows_in_place<T>(a, rows.begin, 0);
      place(lying.row_stride);
      return {lying.data, places};
    }
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t pitch = (K / line / 2 * 2 + 3) * line;  // an odd number of cache lines
    T* copy = scratch<T>(1, count * pitch);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto store = [&]<int W>(std::int64_t k, const Vec<T, W>& lanes)
                             KGEN_LAMBDA { store_lanes(copy + i * pitch + k, lanes); };
      for_each_of_row<T>(a, rows.begin + i, Range{0, K}, store);
    }
    place(pitch);
    return {copy, places};
  }
};

// Whether that pays: few columns, and rows for every thread.
template <class T, int Total>
bool pays_to_place(std::int64_t M, const std::int64_t (&columns)[Total], int threads) {
  std::int64_t all = 0;
  for (const std::int64_t each : columns) all += each;
  return all <= 128 && M >= 4 * RegisterTile<T>::rows * threads;
}

// `data` and `columns`: of each right operand; `tile_rows`: of the piece of the result that is computed at a time.
template <class T, class A, int Total, class C>
void multiply_placed(const A& a, const T* const (&data)[Total], const std::int64_t (&columns)[Total],
                     std::int64_t tile_rows, const C& c, int threads) {
  constexpr int Rows = RegisterTile<T>::rows;
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  const DepthBlocks blocks = DepthBlocks::of<T>(K);
  const std::int64_t row_bytes = static_cast<std::int64_t>(sizeof(T)) * std::max<std::int64_t>(K, 1);
  const std::int64_t near_rows = std::max<std::int64_t>(4, caches().second / 4 / row_bytes / Rows) * Rows;  // of a copy
  const std::int64_t most = is_read_in_place<T>(a) ? tile_rows : std::min(tile_rows, near_rows);
  const Tiling tiles = Tiling::balanced(M, most, threads == 1 ? 1 : 4 * threads, Rows, 1, threads);
  for_each_sink<Total>(c, [&]<int First, int Count>(const auto& sink) {
    const std::int64_t count = columns[First], stride = (count + panel_columns - 1) / panel_columns * panel_columns;
    parallel_for(threads, tiles.count, [&](std::int64_t tile) {
      const Range rows = tiles.range(tile);
      const std::int64_t padded = (rows.end - rows.begin + Rows - 1) / Rows * Rows, distance = padded * stride;
      T* sums = scratch<T>(0, Count * distance);
      if (blocks.count == 0) std::fill_n(sums, Count * distance, T(0));
      const PlacedRows<T> left = PlacedRows<T>::of(a, rows, padded);
      for (std::int64_t block = 0; block < blocks.count; ++block) {
        const Run run{blocks[block].begin, blocks[block].end};
        for (int product = 0; product < Count; ++product) {
          const PatchProduct<T> patches{left.data, left.places, rows.end - rows.begin, stride,
                                        sums + product * distance};
          const PanelBlock<T> panels{data[First + product] + run.begin * panel_columns, K * panel_columns};
          patches.add(&run, 1, panels, block == 0, Prefetch());
        }
      }
      emit_rows<Count>(sink, sums, stride, distance, Index<2>{rows.begin, 0}, rows.end - rows.begin, count);
    });
  });
}

}  // namespace kgen::cpu
