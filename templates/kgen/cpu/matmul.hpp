// Matrix multiplication on the CPU. Threads take tiles of the result. For each block of the depth a thread packs its
// part of the right operand, and mostly of the left one, into panels in its second-level cache, and multiplies them in
// registers. Few rows are multiplied by the right operand where it lies. Of several right operands each has its turn,
// or those have one together whose results a sink takes jointly.
//
// Why everybody packs for himself. On a Zen 5 the register tile runs at 250 GFLOP/s from the first-level cache
// and at 247 from the second (llvm-objdump: 24 multiply-adds and 14 loads for each k, 12 cycles of two pipes; nothing
// spills). Packing costs 0.3 cycles an element of a right operand in rows, 0.4 of a left one and 0.9 of a right one in
// columns where they are near, and twice that from the last-level cache. An element of the right operand then takes
// part in as many multiply-adds as a tile has rows, 32 of them a cycle: 8 cycles for 256 rows. To pack an operand once
// for all threads instead takes writing it to memory, reading it back, and a meeting of all of them; for 9 rows and
// 2048 x 2048 that took 7 times as long as the multiplication.
#pragma once

#include <algorithm>

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/few_rows.hpp"
#include "kgen/cpu/pairs.hpp"
#include "kgen/cpu/panels.hpp"
#include "kgen/cpu/quads.hpp"
#include "kgen/cpu/row_state.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/tile_pairs.hpp"
#include "kgen/several.hpp"

namespace kgen::cpu {

// How the depth of a product is cut: blocks of nearly equal size, so that `near` rows or columns of one operand stay in
// two thirds of the first-level cache, beside what is read past them, and `far` of the other one in 3/8 of the second.
struct DepthBlocks {
  std::int64_t extent, depth, count;

  template <class T>
  static DepthBlocks of(std::int64_t extent, std::int64_t near = RegisterTile<T>::columns, std::int64_t far = 1) {
    constexpr std::int64_t unit = 64, bytes = sizeof(T);
    const std::int64_t fit = std::min(caches().first * 2 / 3 / (near * bytes), caches().second * 3 / 8 / (far * bytes));
    const std::int64_t most = std::max(unit, fit / unit * unit);
    const std::int64_t wanted = std::max<std::int64_t>(1, (extent + most - 1) / most);
    const std::int64_t depth = ((extent + wanted - 1) / wanted + 15) / 16 * 16;
    return {extent, depth, extent == 0 ? 0 : (extent + depth - 1) / depth};
  }
  Range operator[](std::int64_t index) const { return {index * depth, std::min(extent, (index + 1) * depth)}; }
};

// Rows (of the left operand) or columns (of the right one) as panels of `Width`, one after the other, for one block of
// the depth.
template <int Width, class T, class S>
void pack_left(T* panels, const S& source, Range depth, Range rows) {
  const std::int64_t elements = (depth.end - depth.begin) * Width;
  if constexpr (std::is_same_v<T, Pair>) return pack_pairs<Width>(panels, elements, source, depth, rows);
  if constexpr (std::is_same_v<T, Quad>) return pack_quads<Width>(panels, elements, source, depth, rows);
  if (is_transposed(source)) {
    if constexpr (is_view<S>) {
      pack_along_width<Width>(panels, elements, source.template permute<1, 0>(), depth, rows.begin,
                              rows.end - rows.begin);
    }
    return;
  }
  for (std::int64_t row = rows.begin; row < rows.end; row += Width, panels += elements) {
    pack_along_depth<Width>(panels, source, depth, row, std::min<std::int64_t>(Width, rows.end - row));
  }
}
template <int Width, class T, class S>
void pack_right(T* panels, const S& source, Range depth, Range columns) {
  const std::int64_t elements = (depth.end - depth.begin + 1) * Width;
  if constexpr (std::is_same_v<T, Pair>) {
    return pack_pairs<Width>(panels, elements, source.template permute<1, 0>(), depth, columns);
  }
  if (is_transposed(source)) {
    if constexpr (is_view<S>) {
      const auto rows = source.template permute<1, 0>();
      for (std::int64_t j = columns.begin; j < columns.end; j += Width, panels += elements) {
        pack_along_depth<Width>(panels, rows, depth, j, std::min<std::int64_t>(Width, columns.end - j));
      }
    }
    return;
  }
  pack_along_width<Width>(panels, elements, source, depth, columns.begin, columns.end - columns.begin);
}

// The left operand packed for all threads: block after block of the depth, its panels one after the other.
template <class T, int Width>
struct Packed {
  using element_type = T;
  T* data;
  std::int64_t panels;
  DepthBlocks blocks;

  static std::int64_t elements(std::int64_t extent, std::int64_t depth) {
    return (extent + Width - 1) / Width * Width * depth;
  }
  T* panel(std::int64_t block, std::int64_t index) const {
    const Range range = blocks[block];
    return data + range.begin * panels * Width + index * (range.end - range.begin) * Width;
  }
  // Packs rows first to first + extent of the source.
  template <class S>
  void pack(int threads, const S& source, std::int64_t first, std::int64_t extent) const {
    parallel_for(threads, blocks.count * panels, [&](std::int64_t i) {
      const std::int64_t row = i % panels * Width;
      pack_left<Width>(panel(i / panels, i % panels), source, blocks[i / panels],
                       {first + row, first + std::min(extent, row + Width)});
    });
  }
};

// A range of the result, cut into tiles of nearly equal size, at least one for each thread where that can be.
struct Tiling {
  std::int64_t extent, tile, count;

  Tiling(std::int64_t extent, std::int64_t most, std::int64_t least_count, std::int64_t unit) : extent(extent) {
    const std::int64_t units = std::max<std::int64_t>(1, (extent + unit - 1) / unit);
    const std::int64_t wanted =
        std::clamp<std::int64_t>((extent + most - 1) / most, std::clamp<std::int64_t>(least_count, 1, units), units);
    tile = (units + wanted - 1) / wanted * unit;
    count = (extent + tile - 1) / tile;
  }
  // In as many tiles as are wanted or fewer, but one for each thread: so that the thread that gets most gets least.
  // `others`: tiles across, each of which has all of these. 320 columns in three tiles were 4, 4 and 2 panels.
  static Tiling balanced(std::int64_t extent, std::int64_t most, std::int64_t wanted, std::int64_t unit,
                         std::int64_t others, int threads) {
    const auto share = [&](const Tiling& tiling) {
      return (tiling.count * others + threads - 1) / threads * tiling.tile;
    };
    std::int64_t count = (threads + others - 1) / others;
    Tiling best(extent, most, count, unit);
    while (++count <= wanted) {
      if (const Tiling more(extent, most, count, unit); share(more) <= share(best)) best = more;
    }
    return best;
  }
  Range range(std::int64_t index) const { return {index * tile, std::min(extent, (index + 1) * tile)}; }
};

// Gives `count` sums of each of `Count` results, `distance` apart, to their sink.
template <int Count, class T, class C>
KGEN_FN void emit_results(const C& c, const T* sums, std::int64_t distance, Index<2> at, std::int64_t count) {
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

// The same for `rows` rows of sums, `stride` apart. The sink's code, which may be long, stands here once, whatever
// makes the sums: it takes most of the time to build a stub.
template <int Count, class T, class C>
[[gnu::noinline]] void emit_rows(const C& given, const T* sums, std::int64_t stride, std::int64_t distance, Index<2> at,
                                 std::int64_t rows, std::int64_t count) {
  const C c = given;  // whose Views no result overwrites, as the compiler then knows
  for (std::int64_t row = 0; row < rows; ++row) {
    emit_results<Count>(c, sums + row * stride, distance, Index<2>{at[0] + row, at[1]}, count);
  }
}

// What of an operand the blocks of the depth are counted in: its elements, or pairs of them.
template <class P>
Range elements_at(Range depth, std::int64_t K) {
  return is_pair<P> ? Range{2 * depth.begin, std::min(K, 2 * depth.end)} : depth;
}

// The depth of K elements, in what is multiplied.
template <class P>
constexpr std::int64_t depth_of(std::int64_t K) {
  if (std::is_same_v<P, TilePair>) return (pairs_of(K) + tile_depth - 1) / tile_depth * tile_depth;
  return std::is_same_v<P, Pair> ? pairs_of(K) : std::is_same_v<P, Quad> ? quads_of(K) : K;
}

// Where the sums of whole register tiles may go straight to what they are for: a matrix in memory of their type, whose
// element (0, 0) of the tile is at `origin`. Through memory of the thread's own they were stored once more and loaded
// again, and lines of results that had left the caches were waited for, a row of the tile at a time.
template <class T, class P, class C>
struct ResultTiles {
  const C& c;
  Index<2> origin;

  static constexpr bool are_plain = std::is_same_v<P, T> && std::is_same_v<C, View<T, 2>>;
  bool take_sums() const {
    if constexpr (are_plain) return c.stride(1) == 1;
    return false;
  }
  void give(TileSums<T>& sums, std::int64_t row, std::int64_t column) const {
    if constexpr (are_plain) {
      sums.to = c.data() + (origin[0] + row) * c.stride(0) + origin[1] + column;
      sums.to_stride = c.stride(0);
    }
  }
};

// The tile [rows] x [columns] of the products of one operand with `Count` others, given to `c`. left(block): the left
// operand's panels of these rows at one block of the depth; left_to_come(block): what packing them will read.
//
// The left panel stays in the first-level cache and the panels of the right operand, which the hardware fetches ahead,
// stream past it from the second one: 128 bytes in 24 cycles. As it has 12 rows where those have 32 columns, the depth
// of a block is three times what it is the other way about, and sums are loaded and stored as seldom: on a Zen 4
// the register tile runs at 114 GFLOP/s with a depth of 128, at 117 with 384. Rows go to the sink while they are near.
template <class T, class P, int Count, class Left, class LeftToCome, class Rights, class C>
void compute_tile(const DepthBlocks& blocks, const Left& left, const LeftToCome& left_to_come, const Rights& rights,
                  Range rows, Range columns, Index<2> origin, const C& c) {
  using Register = RegisterTile<T, P>;
  [[maybe_unused]] const TilesInUse<P> in_use;
  constexpr int width = Register::columns;
  const std::int64_t row_count = rows.end - rows.begin, column_count = columns.end - columns.begin;
  const std::int64_t row_panels = (row_count + Register::rows - 1) / Register::rows;
  const std::int64_t column_panels = (column_count + width - 1) / width;
  const std::int64_t stride = column_panels * width;
  const std::int64_t distance = row_panels * Register::rows * stride;  // of the sums of one product from the next's
  T* sums = scratch<T>(0, Count * distance);
  P* right = scratch<P>(2, (blocks.depth + 1) * stride);
  const auto emit = [&](std::int64_t row, std::int64_t column) {  // from that column on
    if (column == column_count) return;
    emit_rows<Count>(c, sums + row * stride + column, stride, distance,
                     Index<2>{origin[0] + rows.begin + row, origin[1] + columns.begin + column},
                     std::min<std::int64_t>(Register::rows, row_count - row), column_count - column);
  };
  if (blocks.count == 0) {
    std::fill_n(sums, Count * distance, T(0));
    for (std::int64_t row = 0; row < row_count; row += Register::rows) emit(row, 0);
  }
  const ResultTiles<T, P, C> results{c, {origin[0] + rows.begin, origin[1] + columns.begin}};
  for (std::int64_t block = 0; block < blocks.count; ++block) {
    const std::int64_t depth = blocks[block].end - blocks[block].begin;
    const LeftRows<P> left_rows = left(block);
    Prefetch left_coming = block + 1 < blocks.count ? left_to_come(block + 1) : Prefetch();
    const std::int64_t left_lines = left_coming.lines() / (Count * column_panels * row_panels) + 1;
    const auto multiply = [&](const auto& source, T* to) {
      pack_right<width>(right, source, blocks[block], columns);
      Prefetch coming;
      if (block + 1 < blocks.count) {
        coming = Prefetch(source, elements_at<P>(blocks[block + 1], source.shape()[0]), columns);
      }
      const std::int64_t lines = coming.lines() / (row_panels * column_panels) + 1;
      const bool is_last = block + 1 == blocks.count && to == sums + (Count - 1) * distance;
      for (std::int64_t i = 0; i < row_panels; ++i) {
        const std::int64_t row = i * Register::rows;
        const bool straight = is_last && row_count - row >= Register::rows && results.take_sums();
        const std::int64_t straight_columns = straight ? column_count / width * width : 0;
        for (std::int64_t j = 0; j < column_panels; ++j) {
          TileSums<T> tile{to + row * stride + j * width, stride, block == 0};
          if (j * width < straight_columns) results.give(tile, row, j * width);
          left_rows.multiply(row, row_count - row, right + j * width * (depth + 1), depth, tile);
          coming.fetch(lines);
          left_coming.fetch(left_lines);
        }
        if (is_last) emit(row, straight_columns);
      }
    };
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (multiply(rights.template operator()<I>(), sums + I * distance), ...);
    }
    (std::make_integer_sequence<int, Count>{});
  }
}

// How a product is cut into tiles, so that the sums take half of the second-level cache beside a block of the right
// operand, which is packed once for each tile's rows (of a quarter of it, 1024 x 1024 x 1024 on two threads took 6 to
// 10 % longer); at least some tiles for each thread, where those are worth it.
template <class T, class P>
struct TileSizes {
  using Register = RegisterTile<T, P>;
  std::int64_t rows, columns;
  Tiling row_tiles, column_tiles;

  TileSizes(std::int64_t M, std::int64_t N, const DepthBlocks& blocks, std::int64_t least_rows,
            std::int64_t most_columns, bool left_in_place, int threads)
      : rows(std::max(least_rows, caches().second / 2 / static_cast<std::int64_t>(sizeof(T)) / most_columns)),
        columns(most_columns),
        row_tiles(M, rows, 1, Register::rows),
        column_tiles(N, columns, 1, Register::columns) {
    // Multiply-adds: some 70 us. Each tile packs what lies along it, which for 256 x 256 x 256 in 8 tiles was a fifth.
    constexpr std::int64_t worth_a_tile = 8 << 20;
    const std::int64_t wanted =
        threads == 1 ? 1 : std::clamp<std::int64_t>(M * N * blocks.extent / worth_a_tile, threads, 4 * threads);
    if (M == 0 || N == 0 || row_tiles.count * column_tiles.count >= wanted) return;
    // The longer side is cut first: what lies along the other one is packed anew for each piece, if it is at all.
    const bool cut_rows = M >= N && !left_in_place;
    const auto cut = [&](Tiling& side, std::int64_t most, std::int64_t unit, std::int64_t others) {
      side = Tiling::balanced(side.extent, most, (wanted + others - 1) / others, unit, others, threads);
    };
    if (cut_rows) cut(row_tiles, rows, Register::rows, column_tiles.count);
    if (count() < threads || !cut_rows) cut(column_tiles, columns, Register::columns, row_tiles.count);
    if (count() < threads) cut(row_tiles, rows, Register::rows, column_tiles.count);
  }
  std::int64_t count() const { return row_tiles.count * column_tiles.count; }
};

// Whether the source computes its elements, with a functor of the user's say, instead of showing memory.
template <class S>
inline constexpr bool is_computed = !is_view<S> && !requires(const S& source) {
  source.for_each_run(0, 0, 0, [](auto...) {});
};

// Computes columns of a right operand into `to`, row after row.
template <class T, class S>
View<const T, 2> computed_columns(T* to, const S& source, Range columns, int threads) {
  const Index<2> shape{source.shape()[0], columns.end - columns.begin};
  parallel(threads, [&](Team team) {
    const auto store = [&]<int W>(std::int64_t k, std::int64_t j, const Vec<T, W>& lanes) KGEN_LAMBDA {
      store_lanes(to + k * shape[1] + j - columns.begin, lanes);
    };
    for_each_computed<T>(source, team.part(shape[0]), columns, store);
  });
  return {to, shape};
}

// Gives `multiply` the right operands First to First + Count, each as right<I>(), and the range of their columns that
// these are. `reads`: how often they will be read. What is computed more than once otherwise is computed into memory
// before, as many columns at a time as stay near, and some panels for each thread.
template <class T, int First, int Count, class B, class Multiply>
void for_each_right(const B& b, std::int64_t reads, int threads, const Multiply& multiply) {
  const std::int64_t K = nth<First>(b).shape()[0], N = nth<First>(b).shape()[1];
  const auto as_they_are = [&]<int I>() -> const auto& { return nth<First + I>(b); };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    if constexpr ((is_computed<std::remove_cvref_t<decltype(nth<First + I>(b))>> || ...)) {
      if (reads > 1 && K > 0) {
        constexpr std::int64_t unit = 8 * RegisterTile<T>::columns;
        const std::int64_t fit = caches().near(threads) / (static_cast<std::int64_t>(sizeof(T)) * Count * K);
        const std::int64_t width = std::min(N, std::max(unit * threads, fit / unit * unit));
        T* memory = scratch<T>(4, Count * K * width);
        for (std::int64_t n = 0; n < N; n += width) {
          const Range columns{n, std::min(N, n + width)};
          const View<const T, 2> computed[] = {
              computed_columns(memory + I * K * width, nth<First + I>(b), columns, threads)...};
          multiply(
              [&]<int J>() -> const auto& { return computed[J]; }, columns);
        }
        return;
      }
    }
    multiply(as_they_are, Range{0, N});
  }
  (std::make_integer_sequence<int, Count>{});
}

// Whether the left operand need not be packed: its rows lie in one piece, and not so that all of them share one set of
// the first-level cache after another. That spares 4 % of 512 x 512 x 512, and an eighth of 64 x 64 x 64.
template <class T, class A>
bool is_read_in_place(const A& a) {
  if constexpr (is_view<A>) {
    if constexpr (std::is_same_v<view_element_t<A>, T>) {
      constexpr std::int64_t period = 4096;  // bytes: those of a page, and of one way of a first-level cache
      return a.stride(1) == 1 && a.stride(0) * static_cast<std::int64_t>(sizeof(T)) % period != 0;
    }
  }
  return false;
}
template <class T, class A>
LeftRows<T> rows_in_place(const A& a, std::int64_t row, std::int64_t k) {
  if constexpr (is_view<A>) {
    if constexpr (std::is_same_v<view_element_t<A>, T>) return {a.data() + row * a.stride(0) + k, a.stride(0)};
  }
  return {nullptr};
}

// The left operand is packed by each tile for itself, unless there are so many tiles beside each other that this takes
// more than to pack it for all, or it is no memory but worked out.
template <int TileM, int TileN, class T, class P = T, class A, class B, class C>
void packed_matmul(const A& a, const B& b, const C& c, int threads) {
  using Register = RegisterTile<T, P>;
  static_assert(TileN % Register::columns == 0);
  constexpr std::int64_t tiles_worth_packing_once = is_view<A> ? 2 : 1;
  const std::int64_t M = a.shape()[0], K = depth_of<P>(a.shape()[1]);
  const DepthBlocks blocks = DepthBlocks::of<T>(K, Register::rows, TileN);
  std::int64_t widest = 0;
  for_each_of(b, [&](const auto& each) { widest = std::max(widest, each.shape()[1]); });
  const bool in_place = is_read_in_place<P>(a);
  const bool pack_once = !in_place && several_count<B> * widest > tiles_worth_packing_once * TileN;
  // As much of it at a time as stays near, and many rows for each thread: what a prologue makes of b it makes anew.
  const std::int64_t row_bytes = static_cast<std::int64_t>(sizeof(T)) * std::max<std::int64_t>(K, 1);
  const std::int64_t near_rows = std::max<std::int64_t>(caches().near(threads) / row_bytes, 16 * TileM * threads);
  const std::int64_t block_m = pack_once ? (near_rows + Register::rows - 1) / Register::rows * Register::rows : M;

  for (std::int64_t m = 0; m < M; m += block_m) {
    const std::int64_t rows = std::min(block_m, M - m);
    Packed<P, Register::rows> packed{nullptr, (rows + Register::rows - 1) / Register::rows, blocks};
    if (pack_once) {
      packed.data = scratch<P>(1, packed.elements(rows, K));
      packed.pack(threads, a, m, rows);
    }
    for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto& sink) {
      const auto sizes = [&](std::int64_t N) {
        return TileSizes<T, P>(rows, N, blocks, TileM, TileN / Count, in_place, threads);
      };
      const std::int64_t reads = sizes(nth<First>(b).shape()[1]).row_tiles.count;
      for_each_right<T, First, Count>(b, reads, threads, [&](const auto& right, Range columns) {
        const TileSizes<T, P> tiles = sizes(columns.end - columns.begin);
        parallel_for(threads, tiles.count(), [&](std::int64_t i) {
          const Range tile_rows = tiles.row_tiles.range(i % tiles.row_tiles.count);
          const Range tile_columns = tiles.column_tiles.range(i / tiles.row_tiles.count);
          const auto left = [&](std::int64_t block) -> LeftRows<P> {
            if constexpr (std::is_same_v<P, T>) {
              if (in_place) return rows_in_place<P>(a, m + tile_rows.begin, blocks[block].begin);
            }
            if (pack_once) return {packed.panel(block, tile_rows.begin / Register::rows)};
            P* panels = scratch<P>(3, packed.elements(tile_rows.end - tile_rows.begin, blocks.depth));
            pack_left<Register::rows>(panels, a, blocks[block], {m + tile_rows.begin, m + tile_rows.end});
            return {panels};
          };
          const auto left_to_come = [&](std::int64_t block) {
            return pack_once ? Prefetch()
                             : Prefetch(a, {m + tile_rows.begin, m + tile_rows.end},
                                        elements_at<P>(blocks[block], a.shape()[1]));
          };
          const Index<2> origin{m, columns.begin};
          compute_tile<T, P, Count>(blocks, left, left_to_come, right, tile_rows, tile_columns, origin, sink);
        });
      });
    });
  }
}

// ---- small right operands

// Whether a right operand is multiplied where it lies, with the left one: its rows are whole registers, one behind the
// other, and all of it stays in the first-level cache. Then packing it gains nothing. Of AVX2's 5100 instructions for
// 16x16x32 (callgrind) 2350 multiplied, 890 gave the sums to the result and the others packed and prepared; least CPU
// time of 512 of them, one thread of a Zen 3, 235 us to 123, of 200 of 33x40x48 584 to 329.
template <class T>
bool is_small_in_place(const View<const T, 2>& a, const View<const T, 2>& b) {
  const std::int64_t K = b.extent(0), N = b.extent(1);
  return is_read_in_place<T>(a) && K > 0 && b.stride(1) == 1 && b.stride(0) == N && N % lanes_of<T> == 0 &&
         K * N * static_cast<std::int64_t>(sizeof(T)) <= caches().first * 2 / 3;
}

template <class T, class C>
void matmul_in_place(const View<const T, 2>& a, const View<const T, 2>& b, const C& c) {
  using Register = RegisterTile<T>;
  constexpr int lanes = Register::lanes;
  const std::int64_t M = a.extent(0), K = b.extent(0), N = b.extent(1);
  T* const sums = scratch<T>(0, Register::rows * N);
  for (std::int64_t m = 0; m < M; m += Register::rows) {
    const std::int64_t rows = std::min<std::int64_t>(Register::rows, M - m);
    const T* left = a.data() + m * a.stride(0);
    T* to = sums;
    std::int64_t stride = N;
    with_tile_rows<T>(rows, [&]<int Rows>() KGEN_LAMBDA {
      if constexpr (std::is_same_v<C, View<T, 2>>) {  // straight into it, unless the tile has more rows than are left
        if (rows == Rows && c.stride(1) == 1) to = c.data() + m * c.stride(0), stride = c.stride(0);
      }
      std::int64_t n = 0;
      const auto multiply = [&]<int Vectors>() KGEN_LAMBDA {
        for (; n + Vectors * lanes <= N; n += Vectors * lanes) {
          multiply_rows_in_place<Rows, T, Vectors, false>(rows, left, a.stride(0), b.data() + n, K,
                                                          TileSums<T>{to + n, stride, true}, N);
        }
      };
      multiply.template operator()<Register::vectors>();
      multiply.template operator()<1>();
    });
    if (to == sums) emit_rows<1>(c, sums, N, 0, Index<2>{m, 0}, rows, N);
  }
}

// ---- few rows

// A result of few rows: the right operands go from memory straight into the multiplication.
template <class T, class A, class B, class C>
void unpacked_matmul(const A& a, const B& b, const C& c, Stream stream, int threads) {
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  FewRows<T> left{M, K, nullptr, nullptr};
  for_each_of(b, [&](const auto& each) {
    if (is_transposed(each)) {
      left.rows = scratch<T>(1, M * left.row_stride());
    } else {
      left.slices = scratch<T>(2, M * K);
    }
  });
  parallel(threads_for(stream, M * K), [&](Team team) { left.pack(a, team.part(K, 64)); });
  for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto& sink) {
    // As many columns as have their sums in most of the first-level cache.
    const std::int64_t row_bytes = M * Count * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t most = std::max<std::int64_t>(64, caches().first * 2 / 3 / row_bytes / 64 * 64);
    // Memory is read in stretches of rows, as long as threads leave them: of 1 KB they came at 70 % of the rate of
    // 4 KB. As many for each thread, since few strips end together only so.
    const std::int64_t N = nth<First>(b).shape()[1];
    const std::int64_t stretches = N * static_cast<std::int64_t>(sizeof(T)) / (16 << 10);
    const std::int64_t of_thread =
        is_transposed(nth<First>(b)) ? 4 : std::clamp<std::int64_t>(stretches / threads, 1, 4);
    const std::int64_t wanted = of_thread * threads;
    const Tiling strips(N, most, threads == 1 ? 1 : wanted, 64);
    parallel_for(threads, strips.count, [&](std::int64_t strip) {
      const Range columns = strips.range(strip);
      const std::int64_t count = columns.end - columns.begin, stride = (count + 15) / 16 * 16;
      T* sums = scratch<T>(0, Count * M * stride);
      [&]<int... I>(std::integer_sequence<int, I...>) {
        (left.multiply(sums + I * M * stride, stride, nth<First + I>(b), columns.begin, count), ...);
      }
      (std::make_integer_sequence<int, Count>{});
      emit_rows<Count>(sink, sums, stride, M * stride, Index<2>{0, columns.begin}, M, count);
    });
  });
}

// Whether a right operand is multiplied where it lies: what the two ways cost, in tenths of a cycle for each of its
// registers. In place a row takes a multiply-add, 9/8 of a load and 1/8 of a store (for rows of k: a multiply-add, half
// a load, and at the end of the depth 1/4 of the shuffles that add lanes), which ran at 8 tenths (12); packed it takes
// the 5 tenths of two pipes, for as many rows as the register tile has. Packing takes a load, a store and the load
// again, and where the operand comes from beyond the second-level cache the wait for it, which multiplying in place
// hides. One that is computed is stored and loaded again either way.
template <class T, class B>
std::int64_t gain_in_place(const B& b, std::int64_t M) {
  constexpr std::int64_t third = (RegisterTile<T>::rows + 2) / 3;
  const std::int64_t registers = b.shape()[0] * b.shape()[1] / lanes_of<T>;
  const bool near = registers * lanes_of<T> * static_cast<std::int64_t>(sizeof(T)) <= caches().second;
  const std::int64_t packed = 5 * ((M + third - 1) / third * third);
  if (!is_view<B>) return registers * (packed + 20 - 8 * M);
  return registers * (is_transposed(b) ? packed + (near ? 80 : 110) - 12 * M : packed + (near ? 30 : 70) - 8 * M);
}

template <class A, class B>
inline constexpr bool are_bf16_memory = is_bf16_memory<A>&& is_bf16_memory<B>;
template <class A, class... B>
inline constexpr bool are_bf16_memory<A, Several<B...>> = is_bf16_memory<A> && (is_bf16_memory<B> && ...);

template <int TileM, int TileN, class A, class B, class C>
void matmul_of_tiles(const A& a, const B& b, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  std::int64_t N = 0, gain = 0;
  for_each_of(b, [&](const auto& each) {
    N += each.shape()[1];
    gain += gain_in_place<T>(each, M);
  });
  if (M == 0 || N == 0) return;
  const int threads = threads_for(stream, std::max(M * N * K / 32, N * K / 4));
  if (gain >= 0) return unpacked_matmul<T>(a, b, c, stream, threads);
  if constexpr (std::is_same_v<A, View<const T, 2>> && std::is_same_v<B, View<const T, 2>>) {
    if (threads == 1 && is_small_in_place<T>(a, b)) return matmul_in_place<T>(a, b, c);
  }
  if constexpr ((has_pairs || has_tiles) && are_bf16_memory<A, B>) {
    bool in_lines = lies_in_lines(a);
    for_each_of(b, [&](const auto& each) { in_lines = in_lines && lies_in_lines(each); });
    if constexpr (has_tiles) {
      if (in_lines && fits_tiles(a)) return packed_matmul<TileM, TileN, T, TilePair>(a, b, c, threads);
    }
    if constexpr (has_pairs) {
      if (in_lines) return packed_matmul<TileM, TileN, T, Pair>(a, b, c, threads);
    }
  }
  packed_matmul<TileM, TileN, T>(a, b, c, threads);
}

// The bits that a caller asks for at least are fewer than there are; prologues make elements, and columns of tiles are
// Hopper's, as is what is Known.
template <int TileM, int TileN, int, int Degree = 0, int Columns = 0, int Library = 0, class Known = void, class A,
          class B, class C>
void matmul(const A& a, const B& b, const C& c, Stream stream) {
  if constexpr (uses_rows<C>) {
    return with_row_states(c, stream, [&](const auto& known) { matmul<TileM, TileN, 0>(a, b, known, stream); });
  } else {
    return matmul_of_tiles<TileM, TileN>(a, b, c, stream);
  }
}

}  // namespace kgen::cpu
