// Products of rows by few packed columns: the rows are multiplied where they lie.
//
// Why: to pack an element of the left operand takes 0.4 cycles, and more where it comes from the last-level cache, to
// multiply it by 64 columns two. One thread of a Zen 5, weights from memory, medians in microseconds, packed and so:
// 3136x64x64 137 to 119, 3136x256x64 515 to 463, 3136x256x128 1000 to 968, 784x512x128 467 to 431, 12544x16x16 107 to
// 67, 12544x16x64 211 to 180, 3136x64x24 82 to 63, 784x120x40 49 to 42, 196x240x80 38 to 36, 196x672x112 139 to 135.
// Up to 512 columns, in pieces of 256 that leave a strip's sums near: one thread of a Zen 3 (AVX2), packed and so,
// least, 784x128x512 with a residual 1439 to 1338, 3136x128x256 2834 to 2689, 784x64x384 570 to 545.
//
// Strips of rows meet all columns, and are given to the sink, whole rows of it, while their sums are near. Larger
// pieces brought these through the second-level cache, and called the register tile anew for each of its rows, which
// for a depth of 16 took as many instructions as the products: one thread with AVX-512 (Emerald Rapids) then and so,
// 12544x16x64 438 to 354, 3136x72x24 134 to 114, 196x672x112 269 to 192, 1000x100x50 115 to 88; with AVX2 on the same
// machine 494 to 440, 190 to 145, 343 to 340, 157 to 138. Columns before rows write pieces of 64 bytes far apart:
// 12544x16x64 took 730 instead of 530 on a Zen 3 where results had left the second-level cache. Lines of results asked
// for ahead changed nothing.
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

// The registers of columns of a strip, two at a time beside the rows of the register tile. What they leave over goes
// alone; with AVX2 three go beside 4 rows, as 16 registers have room for: of 24 columns a quarter would be filler.
template <class T>
struct StripTiles {
  using Register = RegisterTile<T>;
  static constexpr bool threes = Register::rows == 6;
  static constexpr int last_rows = threes ? 4 : Register::rows, last_vectors = threes ? 3 : 1;
  static constexpr std::int64_t unit = 12;  // rows of a strip: whole tiles of both kinds
  static_assert(unit % Register::rows == 0 && unit % last_rows == 0);
  std::int64_t end_of_pairs;  // of the registers that go two at a time
  std::int64_t last;          // the first one of those that go alone; -1: there are none

  explicit StripTiles(std::int64_t columns) {
    const std::int64_t vectors = (columns + Register::lanes - 1) / Register::lanes;
    const bool over = vectors % 2 != 0 && vectors >= last_vectors;
    last = over ? vectors - last_vectors : -1;
    end_of_pairs = over ? last : vectors;
  }
};

// sums[i * stride + j] = the sum over k < K of left[places[i] + k] * right(k, j), for i < rows, Rows of them at a time,
// and Vectors registers of columns j, from register `first` of `panels` on. K >= 1 (why: multiply_panels).
template <int Rows, int Vectors, class T>
[[gnu::noinline]] void multiply_strip(const T* left, const std::int64_t* places, std::int64_t rows, const T* panels,
                                      std::int64_t K, std::int64_t first, T* sums, std::int64_t stride) {
  constexpr int lanes = lanes_of<T>, in_panel = panel_columns / lanes;
  const T* column[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) {
    column[v] = panels + (first + v) / in_panel * K * panel_columns + (first + v) % in_panel * lanes;
  }
  sums += first * lanes;
  for (std::int64_t m = 0; m < rows; m += Rows) {
    const T* row[Rows];
    Vec<T, lanes> sum[Rows][Vectors];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      row[i] = left + places[m + i];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[i][v] = Vec<T, lanes>(0);
    }
    std::int64_t k = 0;
    do {
      Vec<T, lanes> factor[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) factor[v] = load_lanes<lanes>(column[v] + k * panel_columns);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const Vec<T, lanes> element(row[i][k]);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[i][v] = multiply_add(element, factor[v], sum[i][v]);
      }
    } while (++k < K);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i, sums += stride) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store_lanes(sums + v * lanes, sum[i][v]);
    }
  }
}

// The same for all `columns`; of rows that are no whole tile, few fillers.
template <class T>
void multiply_strips(const PlacedRows<T>& left, Range rows, const T* panels, std::int64_t K, std::int64_t columns,
                     T* sums, std::int64_t stride) {
  using Tiles = StripTiles<T>;
  using Register = RegisterTile<T>;
  const Tiles tiles(columns);
  const std::int64_t count = rows.end - rows.begin, whole = count / Register::rows * Register::rows;
  if (K == 0) return static_cast<void>(std::fill_n(sums, count * stride, T(0)));
  const auto multiply = [&]<int Rows, int Vectors>(std::int64_t from, std::int64_t end, std::int64_t first) {
    const std::int64_t* places = left.places + rows.begin + from;
    multiply_strip<Rows, Vectors>(left.data, places, end - from, panels, K, first, sums + from * stride, stride);
  };
  for (std::int64_t v = 0; v < tiles.end_of_pairs; v += Register::vectors) {
    multiply.template operator()<Register::rows, Register::vectors>(0, whole, v);
    if (whole == count) continue;
    with_tile_rows<T>(count - whole, [&]<int Rows>() KGEN_LAMBDA {
      multiply.template operator()<Rows, Register::vectors>(whole, count, v);
    });
  }
  if (tiles.last >= 0) multiply.template operator()<Tiles::last_rows, Tiles::last_vectors>(0, count, tiles.last);
}

// Columns that a strip meets before it is given to the sink, whose sums stay near, and that a product may have.
inline constexpr std::int64_t placed_together = 256, most_placed = 512;

// Whether that pays: columns few enough for the second-level cache, and rows for every thread.
template <class T, int Total>
bool pays_to_place(std::int64_t M, std::int64_t K, const std::int64_t (&columns)[Total], int threads) {
  std::int64_t all = 0;
  for (const std::int64_t each : columns) all += each;
  return all <= most_placed && all * K * static_cast<std::int64_t>(sizeof(T)) <= caches().second &&
         M >= 4 * RegisterTile<T>::rows * threads;
}

// `data` and `columns`: of each right operand; `tile_rows`: of the piece of the result that a thread takes. Its rows
// are multiplied and given to the sink in strips, whose sums take a third of the first-level cache, or which have half
// as many rows as the depth: panels come from the second-level cache once for each strip.
template <class T, class A, int Total, class C>
void multiply_placed(const A& a, const T* const (&data)[Total], const std::int64_t (&columns)[Total],
                     std::int64_t tile_rows, const C& c, int threads) {
  constexpr std::int64_t unit = StripTiles<T>::unit, bytes = sizeof(T);
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  const std::int64_t near_rows = caches().second / 4 / (bytes * std::max<std::int64_t>(K, 1));  // of a copy
  const std::int64_t most = is_read_in_place<T>(a) ? tile_rows : std::min(tile_rows, std::max(4 * unit, near_rows));
  const Tiling tiles = Tiling::balanced(M, most, threads == 1 ? 1 : 4 * threads, unit, 1, threads);
  for_each_sink<Total>(c, [&]<int First, int Count>(const auto& sink) {
    if (columns[First] == 0) return;
    const Tiling pieces(columns[First], placed_together, 1, panel_columns);
    const std::int64_t stride = pieces.tile;
    const std::int64_t strip_rows = std::max(caches().first / 3 / (Count * stride * bytes), K / 2);
    const std::int64_t strip = std::clamp(strip_rows, unit, tiles.tile) / unit * unit;
    const std::int64_t distance = strip * stride;
    parallel_for(threads, tiles.count, [&](std::int64_t tile) {
      const Range all = tiles.range(tile);
      const std::int64_t row_count = all.end - all.begin;
      const PlacedRows<T> left = PlacedRows<T>::of(a, all, (row_count + unit - 1) / unit * unit);
      T* sums = scratch<T>(0, Count * distance);
      for (std::int64_t m = 0; m < row_count; m += strip) {
        const Range rows{m, std::min(m + strip, row_count)};
        for (std::int64_t piece = 0; piece < pieces.count; ++piece) {
          const Range part = pieces.range(piece);
          const std::int64_t count = part.end - part.begin;
          for (int product = 0; product < Count; ++product) {
            multiply_strips(left, rows, data[First + product] + part.begin * K, K, count, sums + product * distance,
                            stride);
          }
          emit_rows<Count>(sink, sums, stride, distance, Index<2>{all.begin + m, part.begin}, rows.end - rows.begin,
                           count);
        }
      }
    });
  });
}

}  // namespace kgen::cpu
