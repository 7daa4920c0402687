// Products of rows that lie anywhere in memory by panels of 16 columns: of the patches of an image, which are not
// packed themselves, by filters.
#pragma once

#include <algorithm>

#include "kgen/cpu/panels.hpp"

namespace kgen::cpu {

inline constexpr int panel_columns = 16;  // as kgen/packed_matmul.hpp says

// Elements of rows that lie together and meet rows of the panels that lie together.
struct Run {
  std::int64_t begin, end;
};

// sums[i * stride + j] = (fresh ? 0 : sums[i * stride + j]) + the sum over k of left[places[i] + k] * right(k, j), for
// all k in the runs, one after the other, i < Rows and j < Vectors registers of columns. There are runs, and none is
// empty (why: multiply_panels). `right`: a panel, or a part of
// one, from the first k on; the next panel begins `next_panel` elements further.
//
// On a Zen 5 whose pipes do 264 GFLOP/s it runs at 250 with 64 values of k and at 259 with 256, the panels in the
// second-level cache, also where the rows are 4 KB apart: a first-level cache of 12 ways holds the line of each.
template <int Rows, int Vectors, class T, class Sum>
inline __attribute__((noinline)) void multiply_patches(const T* left, const std::int64_t* places, const Run* runs,
                                                       std::int64_t run_count, const T* right, std::int64_t next_panel,
                                                       Sum* sums, std::int64_t stride, bool fresh, PacedPrefetch& next) {
  constexpr int lanes = lanes_of<T>, in_panel = panel_columns / lanes;
  const T* row[Rows];
  Vec<Sum, lanes> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left + places[i];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      sum[i][v] = fresh ? Vec<Sum, lanes>(0) : load_lanes<lanes>(sums + i * stride + v * lanes);
    }
  }
  const Run* run = runs;
  do {
    std::int64_t k = run->begin;
    do {
      const std::int64_t end = std::min(run->end, k + PacedPrefetch::stretch);
      do {
        Vec<T, lanes> column[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
          column[v] = load_lanes<lanes>(right + v / in_panel * next_panel + v % in_panel * lanes);
        }
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
          const Vec<T, lanes> element(row[i][k]);
#pragma GCC unroll 4
          for (int v = 0; v < Vectors; ++v) sum[i][v] = multiply_add(element, column[v], sum[i][v]);
        }
        right += panel_columns;
      } while (++k < end);
      next.step();
    } while (k < run->end);
  } while (++run != runs + run_count);
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) store_lanes(sums + i * stride + v * lanes, sum[i][v]);
  }
}

// Panels at one block of the depth, `distance` elements apart.
template <class T>
struct PanelBlock {
  const T* data;
  std::int64_t distance;
};

// What multiplies rows by panels, a block of the depth at a time.
template <class T, class Sum = T>
struct PatchProduct {
  using Register = RegisterTile<T>;
  const T* left;
  const std::int64_t* places;
  std::int64_t rows, stride;  // `stride` of the sums: their columns, whole panels
  Sum* sums;

  std::int64_t calls() const {  // of multiply_patches, at most
    return (rows + Register::rows - 1) / Register::rows * ((stride + Register::columns - 1) / Register::columns);
  }

  // `coming`: what is packed or multiplied next.
  void add(const Run* runs, std::int64_t run_count, const PanelBlock<T>& panels, bool fresh,
           const Prefetch& coming) const {
    std::int64_t steps = 0;
    for (std::int64_t i = 0; i < run_count; ++i) steps += PacedPrefetch::steps(runs[i].end - runs[i].begin);
    PacedPrefetch next(coming, calls() * steps);
    constexpr int third = (Register::rows + 2) / 3,
                  rest = std::min<int>(Register::vectors, panel_columns / lanes_of<T>);
    const auto columns = [&]<int Vectors>(std::int64_t j) KGEN_LAMBDA {
      const T* right = panels.data + j / panel_columns * panels.distance + j % panel_columns;
      for (std::int64_t i = 0; i < rows; i += Register::rows) {
        const auto multiply = [&]<int Rows>() KGEN_LAMBDA {
          multiply_patches<Rows, Vectors>(left, places + i, runs, run_count, right, panels.distance,
                                          sums + i * stride + j, stride, fresh, next);
        };
        if (rows - i > 2 * third) {
          multiply.template operator()<Register::rows>();
        } else if (rows - i > third) {
          multiply.template operator()<2 * third>();
        } else {
          multiply.template operator()<third>();
        }
      }
    };
    std::int64_t j = 0;
    for (; j + Register::columns <= stride; j += Register::columns) columns.template operator()<Register::vectors>(j);
    if (j < stride) columns.template operator()<rest>(j);
  }
};

}  // namespace kgen::cpu
