// Matrix multiplication on the CPU. Operands are packed into panels by all threads, then each thread computes tiles of
// the result. Few rows are multiplied without packing, since then the right operand is read but once. Of several right
// operands each has its turn, or those have one together whose results a sink takes jointly; the left operand is packed
// once for all.
#pragma once

#include <algorithm>
#include <atomic>

#include "kgen/cpu/panels.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/several.hpp"

namespace kgen::cpu {

// An operand packed: for each block of `depth` along k, its panels one after the other.
template <class T, int Width>
struct Packed {
  static constexpr std::int64_t depth = 256;  // panels of both operands at this depth fit in the first-level cache

  T* data;
  std::int64_t panels;
  std::int64_t k_extent;

  static std::int64_t elements(std::int64_t extent, std::int64_t k_extent) {
    return (extent + Width - 1) / Width * Width * k_extent;
  }
  std::int64_t blocks() const { return (k_extent + depth - 1) / depth; }
  Range block(std::int64_t index) const { return {index * depth, std::min(k_extent, (index + 1) * depth)}; }
  T* panel(std::int64_t block_index, std::int64_t index) const {
    const Range range = block(block_index);
    return data + range.begin * panels * Width + index * (range.end - range.begin) * Width;
  }

  // This thread's share of packing rows (or columns) first to first + extent of the source.
  // `along_width`: source(k, j), else source(j, k).
  template <bool along_width, class S>
  void pack(Team team, const S& source, std::int64_t first, std::int64_t extent) const {
    const Range part = team.part(blocks() * panels);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const std::int64_t index = i % panels;
      const std::int64_t count = std::min<std::int64_t>(Width, extent - index * Width);
      T* to = panel(i / panels, index);
      if constexpr (along_width) {
        pack_along_width<Width>(to, source, block(i / panels), first + index * Width, count);
      } else {
        pack_along_depth<Width>(to, source, block(i / panels), first + index * Width, count);
      }
    }
  }
};

// A range of the result, cut into tiles of nearly equal size, at least one for each thread where that can be.
struct Tiling {
  std::int64_t extent, tile, count;

  Tiling(std::int64_t extent, std::int64_t most, std::int64_t least_count, std::int64_t unit) : extent(extent) {
    const std::int64_t units = (extent + unit - 1) / unit;
    const std::int64_t wanted =
        std::clamp<std::int64_t>((extent + most - 1) / most, std::min(units, least_count), units);
    tile = (units + wanted - 1) / wanted * unit;
    count = (extent + tile - 1) / tile;
  }
  Range range(std::int64_t index) const { return {index * tile, std::min(extent, (index + 1) * tile)}; }
};

// Gives `count` sums of each of `Count` results, `distance` apart, to their sink.
template <int Count, class T, class C>
KGEN_FN void emit_rows(const C& c, const T* sums, std::int64_t distance, Index<2> at, std::int64_t count) {
  if constexpr (Count == 1) {
    emit_row(c, sums, at, count);
  } else {
    const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
      [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
        store_to(c, moved(at, j), load_lanes<W>(sums + I * distance + j)...);
      }
      (std::make_integer_sequence<int, Count>{});
    };
    for_each_lane(0, count, step);
  }
}

// The tile [rows] x [columns] of the products of a packed operand with `Count` others, given to `c`, whose element
// (0, 0) is at `origin`.
template <class T, int Count, class Left, class Right, class C>
void compute_tile(const Left& left, const Right (&rights)[Count], Range rows, Range columns, Index<2> origin,
                  const C& c) {
  using Register = RegisterTile<T>;
  const std::int64_t row_panels = (rows.end - rows.begin + Register::rows - 1) / Register::rows;
  const std::int64_t column_panels = (columns.end - columns.begin + Register::columns - 1) / Register::columns;
  const std::int64_t stride = column_panels * Register::columns;
  const std::int64_t distance = row_panels * Register::rows * stride;  // of the sums of one product from the next's
  T* sums = scratch<T>(0, Count * distance);
  if (left.k_extent == 0) std::fill_n(sums, Count * distance, T(0));
  for (std::int64_t block = 0; block < left.blocks(); ++block) {
    const Range depth = left.block(block);
    for (int product = 0; product < Count; ++product) {
      for (std::int64_t j = 0; j < column_panels; ++j) {
        const T* right_panel = rights[product].panel(block, columns.begin / Register::columns + j);
        for (std::int64_t i = 0; i < row_panels; ++i) {
          multiply_panels<1, Register::rows>(
              left.panel(block, rows.begin / Register::rows + i), right_panel, depth.end - depth.begin,
              sums + product * distance + i * Register::rows * stride + j * Register::columns, stride, block == 0);
        }
      }
    }
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    emit_rows<Count>(c, sums + (row - rows.begin) * stride, distance,
                     Index<2>{origin[0] + row, origin[1] + columns.begin}, columns.end - columns.begin);
  }
}

// How many rows (or columns) of a packed operand fit into so many bytes: whole units, at least one.
template <class T>
std::int64_t fitting(std::int64_t bytes, std::int64_t extent, std::int64_t K, std::int64_t unit) {
  const std::int64_t units = bytes / (static_cast<std::int64_t>(sizeof(T)) * std::max<std::int64_t>(K, 1) * unit);
  return std::min((extent + unit - 1) / unit, std::max<std::int64_t>(units, 1)) * unit;
}

template <int TileM, int TileN, class T, class A, class B, class C>
void packed_matmul(const A& a, const B& b, const C& c, int threads) {
  using Register = RegisterTile<T>;
  using Left = Packed<T, Register::rows>;
  using Right = Packed<T, Register::columns>;
  static_assert(TileM % Register::rows == 0 && TileN % Register::columns == 0);
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  // The left operand is packed whole as far as 64 MB go; the right ones in pieces that stay in the last-level cache.
  const std::int64_t block_m = fitting<T>(64 << 20, M, K, TileM);
  const auto block_of = [&](std::int64_t N, int count) { return fitting<T>((8 << 20) / count, N, K, TileN); };
  std::int64_t right_elements = 0;
  for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto&) {
    const std::int64_t block_n = block_of(nth<First>(b).shape()[1], Count);
    right_elements = std::max(right_elements, Count * Right::elements(block_n, K));
  });
  T* left_data = scratch<T>(1, Left::elements(block_m, K));
  T* right_data = scratch<T>(2, right_elements);
  std::atomic<std::int64_t> next{0};

  parallel(threads, [&](Team team) {
    const auto pack = [&](const Right& right, const auto& source, std::int64_t n, std::int64_t columns) {
      if (is_transposed(source)) {
        if constexpr (is_view<std::remove_cvref_t<decltype(source)>>) {
          right.template pack<false>(team, source.template permute<1, 0>(), n, columns);
        }
      } else {
        right.template pack<true>(team, source, n, columns);
      }
    };
    for (std::int64_t m = 0; m < M; m += block_m) {
      const std::int64_t rows = std::min(block_m, M - m);
      const Left left{left_data, (rows + Register::rows - 1) / Register::rows, K};
      if (is_transposed(a)) {
        if constexpr (is_view<A>) left.template pack<true>(team, a.template permute<1, 0>(), m, rows);
      } else {
        left.template pack<false>(team, a, m, rows);
      }
      for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto& sink) {
        const std::int64_t N = nth<First>(b).shape()[1], block_n = block_of(N, Count);
        for (std::int64_t n = 0; n < N; n += block_n) {
          const std::int64_t columns = std::min(block_n, N - n);
          Right rights[Count];
          [&]<int... I>(std::integer_sequence<int, I...>) {
            ((rights[I] = {right_data + I * Right::elements(block_n, K),
                           (columns + Register::columns - 1) / Register::columns, K},
              pack(rights[I], nth<First + I>(b), n, columns)),
             ...);
          }
          (std::make_integer_sequence<int, Count>{});
          const Tiling tile_m(rows, TileM, 1, Register::rows);
          const Tiling tile_n(columns, TileN / Count, (2 * team.size + tile_m.count - 1) / tile_m.count,
                              Register::columns);
          if (team.rank == 0) next.store(0, std::memory_order_relaxed);
          team.barrier();
          for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tile_m.count * tile_n.count;) {
            compute_tile<T>(left, rights, tile_m.range(i / tile_n.count), tile_n.range(i % tile_n.count),
                            Index<2>{m, n}, sink);
          }
          team.barrier();
        }
      });
    }
  });
}

// sums[m * stride + j] = the element (m, n + j) of the product, for j < count; `left` is row-major.
template <class T, class B>
void multiply_strip(T* sums, std::int64_t stride, const T* left, std::int64_t M, const B& b, std::int64_t n,
                    std::int64_t count) {
  const std::int64_t K = b.shape()[0];
  if (is_transposed(b)) {
    if constexpr (is_view<B>) {
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t m = 0; m < M; ++m) {
          sums[m * stride + j] = dot(left + m * K, b.template permute<1, 0>(), n + j, K);
        }
      }
    }
  } else {
    std::fill_n(sums, M * stride, T(0));
    add_product(sums, stride, left, K, M, b, Range{0, K}, n, count);
  }
}

// A result of few rows: the right operands go from memory straight into the multiplication.
template <class T, class A, class B, class C>
void unpacked_matmul(const A& a, const B& b, const C& c, int threads) {
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  T* left = scratch<T>(1, M * K);
  parallel(threads, [&](Team team) {
    const Range depths = team.part(K, 64);
    for (std::int64_t m = 0; m < M; ++m) {
      const auto step = [&]<int W>(std::int64_t k) KGEN_LAMBDA {
        store_lanes(left + m * K + k, a.template load<W>(Index<2>{m, k}));
      };
      for_each_lane(depths.begin, depths.end, step);
    }
    team.barrier();
    for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto& sink) {
      const std::int64_t strip = 8192 / (M * Count) / 64 * 64;  // columns whose sums stay in the first-level cache
      T* sums = scratch<T>(0, Count * M * strip);
      const Range columns = team.part(nth<First>(b).shape()[1], 64);
      for (std::int64_t n = columns.begin; n < columns.end; n += strip) {
        const std::int64_t count = std::min(strip, columns.end - n);
        [&]<int... I>(std::integer_sequence<int, I...>) {
          (multiply_strip(sums + I * M * strip, strip, left, M, nth<First + I>(b), n, count), ...);
        }
        (std::make_integer_sequence<int, Count>{});
        for (std::int64_t m = 0; m < M; ++m) {
          emit_rows<Count>(sink, sums + m * strip, M * strip, Index<2>{m, n}, count);
        }
      }
    });
  });
}

template <int TileM, int TileN, class A, class B, class C>
void matmul(const A& a, const B& b, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  constexpr std::int64_t few_rows = 8;
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  std::int64_t N = 0;
  for_each_of(b, [&](const auto& each) { N += each.shape()[1]; });
  if (M == 0 || N == 0) return;
  const int threads = threads_for(stream, std::max(M * N * K / 64, N * K / 4));
  if (M <= few_rows) {
    unpacked_matmul<T>(a, b, c, threads);
  } else {
    packed_matmul<TileM, TileN, T>(a, b, c, threads);
  }
}

}  // namespace kgen::cpu
