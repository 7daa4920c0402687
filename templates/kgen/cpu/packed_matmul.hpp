// Products with packed right operands (kgen/packed_matmul.hpp): the left one is packed by all threads, then each thread
// computes tiles of the results. Every element is summed in the order of k, as in matmul.hpp.
#pragma once

#include <algorithm>
#include <bit>

#include "kgen/cpu/matmul.hpp"
#include "kgen/cpu/patches.hpp"
#include "kgen/cpu/placed_matmul.hpp"
#include "kgen/cpu/quads.hpp"
#include "kgen/cpu/tile_products.hpp"

namespace kgen::cpu {

// ---- packing

// Rows `depth` of one panel, whose first element is at `to`. Its columns are `count` of the source's from `first`.
template <class U, class S>
void pack_panel(U* to, const S& source, Range depth, std::int64_t first, std::int64_t count) {
  for (std::int64_t k = depth.begin; k < depth.end; ++k) {
    U* row = to + k * panel_columns;
    const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
      store_elements(row + j, source.template load<W>(Index<2>{k, first + j}));
    };
    for_each_lane(0, count, step);
    for (std::int64_t j = count; j < panel_columns; ++j) row[j] = U(0.0f);
  }
}

// The same where the source's neighbours along k lie together.
template <class U, class V>
void pack_panel_across(U* to, const View<V, 2>& source, Range depth, std::int64_t first, std::int64_t count) {
  const auto across = source.template permute<1, 0>();
  for (std::int64_t j = 0; j < panel_columns; ++j) {
    const auto step = [&]<int W>(std::int64_t k) KGEN_LAMBDA {
      U elements[W] = {};
      if (j < count) store_elements(elements, across.template load<W>(Index<2>{first + j, k}));
      for (int i = 0; i < W; ++i) to[(k + i) * panel_columns + j] = elements[i];
    };
    for_each_lane(depth.begin, depth.end, step);
  }
}

// pack(panel, depth, first, count) for each panel, whose columns are `count` of b's from `first`, and each piece of the
// depth: in the order in which b lies in memory, so that what was read of it is not needed again.
template <class B, class Pack>
void for_each_piece(const B& b, std::int64_t element_bytes, Stream stream, const Pack& pack) {
  constexpr std::int64_t depth = 64;  // rows whose cache lines stay at hand while columns are written across them
  const std::int64_t K = b.shape()[0], N = b.shape()[1];
  const std::int64_t blocks = (K + depth - 1) / depth, panels = (N + panel_columns - 1) / panel_columns;
  const bool by_panels = is_transposed(b);
  parallel(threads_for(stream, K * N), [&](Team team) {
    const Range part = team.part(panels * blocks);
    Reading reading(stream, team);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const std::int64_t panel = by_panels ? i / blocks : i % panels;
      const std::int64_t k = (by_panels ? i % blocks : i / panels) * depth;
      const Range rows{k, std::min(K, k + depth)};
      const std::int64_t first = panel * panel_columns;
      const std::int64_t count = std::min<std::int64_t>(panel_columns, N - first);
      pack(panel, rows, first, count);
      reading.add((rows.end - rows.begin) * count * element_bytes);
    }
  });
}

template <class B, class U>
void pack_columns(const B& b, const View<U, 3>& panels, Stream stream) {
  const auto pack = [&](std::int64_t panel, Range depth, std::int64_t first, std::int64_t count) {
    U* to = panels.data() + panel * b.shape()[0] * panel_columns;
    if constexpr (is_view<B>) {
      if (is_transposed(b)) return pack_panel_across(to, b, depth, first, count);
    }
    pack_panel(to, b, depth, first, count);
  };
  for_each_piece(b, sizeof(U), stream, pack);
}

// ---- multiplying

// The piece of a product that stays in registers: Rows rows of the left operand, and as many columns as leave the
// registers of RegisterTile: part of a panel, or several panels.
template <class T, int Rows, class P = T>
struct PanelTile {
  static constexpr int lanes = lanes_of<T>;
  static constexpr int vectors_of_panel = panel_columns / lanes;
  static constexpr int sums = RegisterTile<T>::rows * RegisterTile<T>::vectors;
  // Of more than four panels at a time an Intel server has less from memory (tests/bench/CPU.md, "One row from
  // memory").
  static constexpr int most = std::min(8, 4 * vectors_of_panel);
  static constexpr int vectors = std::min(most, static_cast<int>(std::bit_floor(static_cast<unsigned>(sums / Rows))));
  static constexpr int panels = std::max(1, vectors / vectors_of_panel);
};

template <class T, int Rows, class U>
struct PanelTile<T, Rows, TileUnit<U>> {
  static constexpr int panels = RegisterTile<T, TileUnit<U>>::vectors;
};

// Rows of a panel of U hold so many rows of elements of P: two where pairs are multiplied one by one.
template <class P, class U>
inline constexpr int rows_in = std::is_same_v<U, Pair> && !is_pair<P> ? 2 : 1;

// W elements of row `k` of rows_in<P, U> that begin at `from`.
template <class P, int W, class U>
KGEN_FN Vec<P, W> load_of_row(const U* from, std::int64_t k) {
  if constexpr (rows_in<P, U> == 2) {
    const Vec<std::uint32_t, W> pairs = bit_cast<std::uint32_t>(load_lanes<W>(from));
    return convert<P>(bit_cast<float>(k % 2 == 0 ? pairs & Vec<std::uint32_t, W>(0xffff0000u) : pairs << 16));
  } else {
    return convert<P>(load_elements<W>(from));
  }
}

// sums[i * stride + j] = (fresh ? 0 : sums[i * stride + j]) + sum over k < depth of left[k * Of + i] * right(k, j), for
// i < Rows, which are the first of `Of` in a panel, and j < Vectors registers of columns. `right` is the first row of a
// panel, or of a part of one; the next panel is `next_panel` elements further. P: T, or pairs or fours of what is
// multiplied, as U is then (pairs.hpp, quads.hpp); pairs are multiplied one by one where P is T. Meanwhile `next` is
// fetched, and as many elements of `Coming` panels from `coming` on. depth >= 1 (why: multiply_panels).
template <int Rows, int Vectors, int Of = Rows, int Coming = 0, class P, class T, class U>
inline __attribute__((noinline)) void multiply_by_panels(const P* left, const U* right, std::int64_t next_panel,
                                                         std::int64_t depth, T* sums, std::int64_t stride, bool fresh,
                                                         PacedPrefetch& next, const U* coming = nullptr) {
  constexpr int lanes = lanes_of<T>;
  constexpr int in_panel = panel_columns / lanes;
  Vec<T, lanes> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      sum[i][v] = fresh ? Vec<T, lanes>(0) : load_lanes<lanes>(sums + i * stride + v * lanes);
    }
  }
  constexpr int in_row = rows_in<P, U>;
  const auto multiply = [&](std::int64_t k, int part) KGEN_LAMBDA {
    Vec<P, lanes> column[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const U* from = right + v / in_panel * next_panel + k / in_row * panel_columns + v % in_panel * lanes;
      column[v] = load_of_row<P, lanes>(from, part);
      hold_column<Rows, RegisterTile<T>::rows>(column[v]);
    }
    add_products<1>(left + k * Of, column, sum);
  };
  std::int64_t k = 0;
  do {
    const std::int64_t end = std::min(depth, k + PacedPrefetch::stretch);
    do {
#pragma GCC unroll 8
      for (int i = 0; i < Coming; ++i) __builtin_prefetch(coming + i * next_panel + k / in_row * panel_columns, 0, 2);
      multiply(k, 0);
      if constexpr (in_row == 2) {
        if (k + 1 < end) multiply(k + 1, 1);
      }
    } while ((k += in_row) < end);
    next.step();
  } while (k < depth);
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) store_lanes(sums + i * stride + v * lanes, sum[i][v]);
  }
}

// The same for the columns of one panel and more rows than the registers have sums for: sums stay in the first-level
// cache, and the right operand in registers, Depth rows of it at a time.
template <int Rows, int Depth, class T, class U>
KGEN_FN void add_panel_slice(const T* left, const U* right, std::int64_t k, T* sums, std::int64_t stride) {
  constexpr int lanes = std::min(panel_columns, lanes_of<T>), in_row = rows_in<T, U>;
  left += k * Rows, right += k / in_row * panel_columns;
  for (int j = 0; j < panel_columns; j += lanes) {
    Vec<T, lanes> column[Depth];
#pragma GCC unroll 8
    for (int i = 0; i < Depth; ++i) {
      column[i] = load_of_row<T, lanes>(right + i / in_row * panel_columns + j, Depth == 1 ? k : i);
    }
    for (int i = 0; i < Rows; ++i) {
      Vec<T, lanes> sum = load_lanes<lanes>(sums + i * stride + j);
#pragma GCC unroll 8
      for (int d = 0; d < Depth; ++d) sum = multiply_add(Vec<T, lanes>(left[d * Rows + i]), column[d], sum);
      store_lanes(sums + i * stride + j, sum);
    }
  }
}
template <int Rows, class T, class U>
void multiply_by_panel(const T* left, const U* right, std::int64_t depth, T* sums, std::int64_t stride, bool fresh) {
  constexpr int step = 8;
  for (int i = 0; fresh && i < Rows; ++i) std::fill_n(sums + i * stride, panel_columns, T(0));
  std::int64_t k = 0;
  for (; k + step <= depth; k += step) {
    add_panel_slice<Rows, step>(left, right, k, sums, stride);
  }
  for (; k < depth; ++k) add_panel_slice<Rows, 1>(left, right, k, sums, stride);
}

inline constexpr std::int64_t few_row_panels = 2;

// `Count` right operands in panels, as wide as each other, and who takes what they give at one position.
template <class U, int Count, class C>
struct PackedRights {
  const U* data[Count];
  std::int64_t columns;
  std::int64_t depth;
  const C& c;

  std::int64_t next_panel() const { return depth * panel_columns; }

  // What is multiplied behind the panels of `part` that end at `panel`, at `block` of the depth: as many panels more,
  // or the first ones of the next product, or of the next block.
  template <class P>
  Prefetch next(const DepthBlocks& blocks, std::int64_t block, int product, std::int64_t panel, Range part,
                std::int64_t together) const {
    if (panel >= part.end) {
      panel = part.begin;
      if (++product == Count) product = 0, ++block;
      if (block == blocks.count) return {};
    }
    return lines<P>(blocks[block], product, {panel, std::min(panel + together, part.end)});
  }
  // The same where panels are read from their begin to their end: behind all of `part` at `block`.
  template <class P>
  Prefetch next_along(const DepthBlocks& blocks, std::int64_t block, int product, Range part, std::int64_t end) const {
    if (++block < blocks.count) return lines<P>(blocks[block], product, part);
    return lines<P>(blocks[0], product, {part.end, std::min(end, part.end + part.end - part.begin)});
  }

 private:
  template <class P>
  Prefetch lines(Range block, int product, Range panels) const {
    const std::int64_t begin = block.begin / rows_in<P, U>, end = std::min(depth, block.end / rows_in<P, U>);
    const Index<2> shape{panels.end - panels.begin, (end - begin) * panel_columns};
    const View<const U, 2> coming(data[product] + panels.begin * next_panel() + begin * panel_columns, shape,
                                  Index<2>{next_panel(), 1});
    return Prefetch(coming, Range{0, shape[0]}, Range{0, shape[1]});
  }
};

// The tiles of a product in the order in which threads take them: the right operand in pieces that stay in the
// last-level cache, and of each piece all rows.
struct TileOrder {
  Tiling rows, columns;
  std::int64_t piece;  // of how many tiles of columns

  std::int64_t count() const { return rows.count * columns.count; }
  // {of rows, of columns}
  Index<2> operator[](std::int64_t tile) const {
    const std::int64_t first = tile / (piece * rows.count) * piece;
    const std::int64_t width = std::min(piece, columns.count - first);
    const std::int64_t within = tile - first * rows.count;
    return {within / width, first + within % width};
  }
};

// The rows of a tile of the left operand, in panels of `Rows`.
struct TileRows {
  Range panels;
  std::int64_t count;  // of rows, the last panel's fillers not among them
};

// Panels of the right operand, as many as fit the registers, multiplied by each of the left one's in turn. Meanwhile
// what is multiplied next comes into the second-level cache: weights of a model lie beyond it, and the first of the
// left panels to meet them waited. Of weights from memory, one thread of a Zen 5, medians: 128x768x3072 3144 to 2708
// us, 1024x768x3072 23.6 to 20.3 ms (of which the register tile's rate is 2200 us, 17.8 ms). Of one or two left panels
// a line with each k: 12 rows of 2048x8192 3050 to 2330 us, 16 of 4096x4096 4370 to 2410. With fewer
// rows, memory is what takes the time, and the hardware fetches as well: 4 % better for one row. Not for four of AVX2's
// registers, which have room for one panel at a time: on a Zen 3, least CPU time of calls, 4x4096x4096 went from 3900
// and 4560 us to 3350 and 3360; two rows lost about as much.
template <int Rows, int Panels, class T, class Left, class U>
void multiply_rows(const Left& left, const TileRows& rows, std::int64_t block, std::int64_t depth, const U* right,
                   std::int64_t next_panel, T* sums, std::int64_t stride, const Prefetch& coming) {
  using Tile = PanelTile<T, Rows>;
  constexpr int vectors = std::min(Tile::vectors, Panels * Tile::vectors_of_panel);
  constexpr bool fetches = Rows > 2;
  const std::int64_t passes = rows.panels.end - rows.panels.begin;
  PacedPrefetch next(coming, passes * PacedPrefetch::steps(depth) * (Panels * Tile::vectors_of_panel / vectors));
  for (std::int64_t i = rows.panels.begin; i < rows.panels.end; ++i, sums += Rows * stride) {
    const std::int64_t left_rows = rows.count - (i - rows.panels.begin) * Rows;
    if constexpr (Rows > RegisterTile<T>::rows) {
      multiply_by_panel<Rows>(left.panel(block, i), right, depth, sums, stride, block == 0);
    } else {
      for (int v = 0; v < Panels * Tile::vectors_of_panel; v += vectors) {
        const auto multiply = [&]<int Some, int Coming>() KGEN_LAMBDA {
          const std::int64_t behind = depth / rows_in<typename Left::element_type, U> * panel_columns;
          const U* ahead = right + behind + (i - rows.panels.begin) * Coming * next_panel;
          multiply_by_panels<Some, vectors, Rows, Coming>(left.panel(block, i), right + v * Tile::lanes, next_panel,
                                                          depth, sums + v * Tile::lanes, stride, block == 0, next,
                                                          ahead);
        };
        constexpr int most = 2 * ((Rows + 2) / 3);
        if (passes == 1) {
          multiply.template operator()<Rows, fetches ? Panels : 0>();
        } else if (passes == 2) {
          multiply.template operator()<Rows, fetches ? (Panels + 1) / 2 : 0>();
        } else if (Rows == RegisterTile<T>::rows && left_rows <= most) {
          multiply.template operator()<most, 0>();
        } else {
          multiply.template operator()<Rows, 0>();
        }
      }
    }
  }
}

// The same of tiles, whose right operand is pairs or fours.
template <int Panels, class T, class Left, class U>
void multiply_tile_panels(const Left& left, const TileRows& rows, std::int64_t block, std::int64_t depth,
                          const U* right, std::int64_t next_panel, T* sums, std::int64_t stride,
                          const Prefetch& coming) {
  constexpr std::int64_t height = RegisterTile<T, TileUnit<U>>::rows;
  const std::int64_t passes = rows.panels.end - rows.panels.begin;
  PacedPrefetch next(coming, passes * PacedPrefetch::steps(depth));
  for (std::int64_t i = 0; i < passes; ++i) {
    multiply_tile_rows<Panels>(rows.count - i * height, left.panel(block, rows.panels.begin + i),
                               TileColumns<U>{right, panel_columns, next_panel}, depth, sums + i * height * stride,
                               stride, block == 0, next);
  }
}

// `count` rows of `Panels` panels as elements of type T, until the next call.
template <class T, int Panels, class U>
const T* convert_panels(const U* from, std::int64_t next_panel, std::int64_t count) {
  constexpr int in_row = rows_in<T, U>;
  T* const converted = scratch<T>(2, Panels * count * panel_columns);
  for (int panel = 0; panel < Panels; ++panel) {
    const U* row = from + panel * next_panel;
    T* to = converted + panel * count * panel_columns;
    for (std::int64_t k = 0; k < count; k += in_row, row += panel_columns, to += in_row * panel_columns) {
      store_lanes(to, load_of_row<T, panel_columns>(row, 0));
      if (in_row == 2 && k + 1 < count) store_lanes(to + panel_columns, load_of_row<T, panel_columns>(row, 1));
    }
  }
  return converted;
}

// The first `count` rows of `Panels` panels, behind which zeros make whole tiles of them, `depth` rows, until the next
// call: as what lies there may be NaN, or nothing.
template <int Panels, class U>
const U* whole_tiles(const U* from, std::int64_t next_panel, std::int64_t count, std::int64_t depth) {
  U* const to = scratch<U>(2, Panels * depth * panel_columns);
  for (int panel = 0; panel < Panels; ++panel) {
    U* const copy = to + panel * depth * panel_columns;
    std::copy_n(from + panel * next_panel, count * panel_columns, copy);
    std::fill(copy + count * panel_columns, copy + depth * panel_columns, U(0));
  }
  return to;
}

// `Panels` panels of a product for all rows of a tile, at one depth. `right` is the first of them, the others are
// `next_panel` apart; `sums` begin with those panels.
template <int Rows, int Panels, class T, class Left, class U>
void multiply_block(const Left& left, const TileRows& rows, std::int64_t block, const U* right, std::int64_t next_panel,
                    T* sums, std::int64_t stride, const Prefetch& coming) {
  using P = typename Left::element_type;
  const Range depth = left.blocks[block];
  const std::int64_t count = depth.end - depth.begin;
  const U* from = right + depth.begin / rows_in<P, U> * panel_columns;
  if constexpr (is_tiled<P>) {
    if (const std::int64_t there = next_panel / panel_columns - depth.begin; there < count) {
      from = whole_tiles<Panels>(from, next_panel, there, count);
      next_panel = count * panel_columns;
    }
    multiply_tile_panels<Panels>(left, rows, block, count, from, next_panel, sums, stride, coming);
  } else {
    if constexpr (!std::is_same_v<P, U>) {
      if (rows.panels.end - rows.panels.begin > few_row_panels) {
        const T* converted = convert_panels<T, Panels>(from, next_panel, count);
        return multiply_rows<Rows, Panels>(left, rows, block, count, converted, count * panel_columns, sums, stride,
                                           coming);
      }
    }
    multiply_rows<Rows, Panels>(left, rows, block, count, from, next_panel, sums, stride, coming);
  }
}

// The tile [rows] x [columns] of each product, given to rights.c. Row 0 of `left` is row `first` of the products.
template <int Rows, class T, class Left, class U, int Count, class C>
void compute_panel_tile(const Left& left, std::int64_t first, const PackedRights<U, Count, C>& rights, Range rows,
                        Range columns) {
  using P = typename Left::element_type;
  constexpr int together = PanelTile<T, Rows, P>::panels;
  [[maybe_unused]] const TilesInUse<P> in_use;
  const TileRows tile{{rows.begin / Rows, (rows.end + Rows - 1) / Rows}, rows.end - rows.begin};
  const Range panels{columns.begin / panel_columns, (columns.end + panel_columns - 1) / panel_columns};
  const std::int64_t row_count = (tile.panels.end - tile.panels.begin) * Rows;
  const bool few_rows = tile.panels.end - tile.panels.begin <= few_row_panels;
  const std::int64_t stride = (panels.end - panels.begin) * panel_columns;
  const std::int64_t distance = row_count * stride;  // of the sums of one product from the next's
  T* sums = scratch<T>(0, Count * distance);
  if (left.blocks.count == 0) std::fill_n(sums, Count * distance, T(0));
  const auto multiply = [&](std::int64_t block, int product, Range part) KGEN_LAMBDA {
    std::int64_t panel = part.begin;
    T* to = sums + product * distance;
    const auto step = [&]<int Panels>() KGEN_LAMBDA {
      for (; panel + Panels <= part.end; panel += Panels) {
        Prefetch coming;
        if (!few_rows) {
          coming = rights.template next<P>(left.blocks, block, product, panel + Panels, part, together);
        } else if constexpr (is_tiled<P>) {
          coming = rights.template next_along<P>(left.blocks, block, product, {panel, panel + Panels}, panels.end);
        }
        multiply_block<Rows, Panels>(left, tile, block, rights.data[product] + panel * rights.next_panel(),
                                     rights.next_panel(), to + (panel - panels.begin) * panel_columns, stride, coming);
      }
    };
    step.template operator()<together>();
    if constexpr (together > 1) step.template operator()<1>();
  };
  // For few rows each panel is read from its begin to its end, as memory likes it; for more, the rows at one depth meet
  // every panel of the tile while they are in the first-level cache.
  if (few_rows) {
    for (int product = 0; product < Count; ++product) {
      for (std::int64_t panel = panels.begin; panel < panels.end; panel += together) {
        const Range part{panel, std::min(panels.end, panel + together)};
        for (std::int64_t block = 0; block < left.blocks.count; ++block) multiply(block, product, part);
      }
    }
  } else {
    for (std::int64_t block = 0; block < left.blocks.count; ++block) {
      for (int product = 0; product < Count; ++product) multiply(block, product, panels);
    }
  }
  emit_rows<Count>(rights.c, sums, stride, distance, Index<2>{first + rows.begin, columns.begin}, rows.end - rows.begin,
                   columns.end - columns.begin);
}

// The tiles of products whose left operand has `rows` rows.
template <int Rows, int TileN, class T, class U, int Count>
TileOrder tiles_of(std::int64_t rows, std::int64_t tile_rows, std::int64_t columns, std::int64_t K, int threads) {
  // Rows are cut further where there are more threads than panels.
  const std::int64_t panels = std::max<std::int64_t>(1, (columns + panel_columns - 1) / panel_columns);
  const Tiling row_tiles(rows, tile_rows, (threads + panels - 1) / panels, Rows);
  const std::int64_t least = (2 * threads + row_tiles.count - 1) / row_tiles.count;
  const std::int64_t tile_bytes = static_cast<std::int64_t>(sizeof(U)) * std::max<std::int64_t>(K, 1) * TileN;
  const std::int64_t piece = std::max<std::int64_t>(1, caches().near(threads) / 4 / tile_bytes);
  return {row_tiles, Tiling(columns, TileN / Count, least, panel_columns), piece};
}

// Whether a tile has all columns of the products, so that nothing but its own left operand is packed for it: into the
// second-level cache, which that for all tiles would leave before it is read. With caches that other work filled, as
// within a model, one thread of a Zen 5, medians: 3136x256x64 764 to 631 us, 3136x256x128 1241 to 1063, 784x512x128 571
// to 517; but 12544x16x64, whose left operand stays there, 308 to 354.
template <int Rows, int TileN, int Total>
bool packs_by_tiles(std::int64_t M, std::int64_t row_bytes, const std::int64_t (&columns)[Total], int threads) {
  std::int64_t all = 0;
  for (const std::int64_t each : columns) all += each;
  constexpr std::int64_t least_rows = 16;  // of a thread, in panels, which are to be cut evenly
  return all <= TileN && M >= least_rows * Rows * threads && M * row_bytes > caches().second;
}

template <int Rows, class T, class P, class A, class U, int Total, class C>
void multiply_by_tiles(const A& a, const U* const (&data)[Total], const std::int64_t (&columns)[Total],
                       std::int64_t panel_rows, std::int64_t tile_rows, const C& c, int threads) {
  using Left = Packed<P, Rows>;
  const std::int64_t M = a.shape()[0], depth = depth_of<P>(a.shape()[1]);
  const DepthBlocks blocks = DepthBlocks::of<T>(depth);
  const std::int64_t row_bytes = static_cast<std::int64_t>(sizeof(P)) * std::max<std::int64_t>(depth, 1);
  const std::int64_t near_rows = std::max<std::int64_t>(4, caches().second / 4 / row_bytes / Rows) * Rows;
  const Tiling tiles(M, std::min(tile_rows, near_rows), threads == 1 ? 1 : 4 * threads, Rows);
  for_each_sink<Total>(c, [&]<int First, int Count>(const auto& sink) {
    PackedRights<U, Count, std::remove_cvref_t<decltype(sink)>> rights{{}, columns[First], panel_rows, sink};
    std::copy_n(data + First, Count, rights.data);
    parallel_for(threads, tiles.count, [&](std::int64_t i) {
      const Range rows = tiles.range(i);
      const std::int64_t count = rows.end - rows.begin;
      const Left left{scratch<P>(1, Left::elements(tiles.tile, depth)), (count + Rows - 1) / Rows, blocks};
      left.pack(1, a, rows.begin, count);
      compute_panel_tile<Rows, T>(left, rows.begin, rights, Range{0, count}, Range{0, rights.columns});
    });
  });
}

// So many rows that their sums take a quarter of the second-level cache: a panel of the right operand, which comes from
// memory, or is converted, meets all of them.
template <class T, int TileM, int TileN>
std::int64_t near_rows() {
  return std::max<std::int64_t>(TileM, caches().second / 4 / (TileN * static_cast<std::int64_t>(sizeof(T))));
}

// `data` and `columns`: of each right operand, whose panels have `panel_rows` rows.
template <int Rows, int TileM, int TileN, class T, class P = T, class A, class U, int Total, class C>
void multiply_packed(const A& a, const U* const (&data)[Total], const std::int64_t (&columns)[Total],
                     std::int64_t panel_rows, const C& c, int threads) {
  using Left = Packed<P, Rows>;
  const std::int64_t tile_rows = std::max<std::int64_t>(Rows, near_rows<T, TileM, TileN>() / Rows * Rows);
  const std::int64_t M = a.shape()[0], depth = depth_of<P>(a.shape()[1]);
  const std::int64_t row_bytes = static_cast<std::int64_t>(sizeof(P)) * std::max<std::int64_t>(depth, 1);
  if (packs_by_tiles<Rows, TileN>(M, row_bytes, columns, threads)) {
    return multiply_by_tiles<Rows, T, P>(a, data, columns, panel_rows, tile_rows, c, threads);
  }
  const std::int64_t tiles_at_once = std::max<std::int64_t>(threads, caches().near(threads) / (row_bytes * tile_rows));
  const std::int64_t block = std::min((M + Rows - 1) / Rows * Rows, tiles_at_once * tile_rows);
  const DepthBlocks blocks = DepthBlocks::of<T>(depth);
  P* left_data = scratch<P>(1, Left::elements(block, depth));

  for (std::int64_t m = 0; m < M; m += block) {
    const std::int64_t rows = std::min(block, M - m);
    const Left left{left_data, (rows + Rows - 1) / Rows, blocks};
    left.pack(threads, a, m, rows);
    for_each_sink<Total>(c, [&]<int First, int Count>(const auto& sink) {
      PackedRights<U, Count, std::remove_cvref_t<decltype(sink)>> rights{{}, columns[First], panel_rows, sink};
      std::copy_n(data + First, Count, rights.data);
      const TileOrder tiles = tiles_of<Rows, TileN, T, U, Count>(rows, tile_rows, rights.columns, panel_rows, threads);
      parallel_for(threads, tiles.count(), [&](std::int64_t i) {
        const Index<2> tile = tiles[i];
        compute_panel_tile<Rows, T>(left, m, rights, tiles.rows.range(tile[0]), tiles.columns.range(tile[1]));
      });
    });
  }
}

// multiply.operator()<Rows>() with as many rows in a panel of the left operand as leave few of them idle: of 16 rows, 8
// in two panels take 0.7 of the time of 12. `Most`: of the register tile; `OfEight`: where it has fewer, those of a
// panel of 7 or 8 rows; 0: its own.
template <int Most, int OfEight, class Multiply>
void with_row_panels(std::int64_t M, const Multiply& multiply) {
  if (M == 1) return multiply.template operator()<1>();
  if (M == 2) return multiply.template operator()<2>();
  if (M <= 4) return multiply.template operator()<4>();
  if constexpr (OfEight > 0 && Most < 6) {
    if (M <= 6) return multiply.template operator()<6>();
  }
  if constexpr (OfEight > 0 && Most <= 8) {
    if (M > Most && M <= 8) return multiply.template operator()<OfEight>();
  }
  if constexpr (Most > 8) {
    const bool fewer = (M + 7) / 8 * 8 < (M + Most - 1) / Most * Most;
    if (M <= 32 && fewer) return multiply.template operator()<8>();
  }
  multiply.template operator()<Most>();
}

// `panels` in one piece, panel after panel: themselves, unless a view shows them otherwise; then they are copied to
// `copy`, which is moved behind them.
template <class U>
const U* dense_panels(const View<const U, 3>& panels, U*& copy) {
  if (panels.is_dense()) return panels.data();
  const U* begin = copy;
  for (std::int64_t i = 0; i < element_count(panels.shape()); ++i) {
    const Index<3> at = unflatten(i, panels.shape());
    *copy++ = panels.data()[at[0] * panels.stride(0) + at[1] * panels.stride(1) + at[2] * panels.stride(2)];
  }
  return begin;
}

// multiply(data, columns, threads): where the panels of each right operand begin, which hold elements of U, and how
// many columns each has.
template <class U, class A, class P, class Multiply>
void with_panels(const A& a, const P& panels, std::int64_t padding, Stream stream, const Multiply& multiply) {
  using E = view_element_t<first_of_t<P>>;
  constexpr int total = several_count<P>;
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  std::int64_t copied = 0;
  for_each_of(panels, [&](const auto& each) { copied += each.is_dense() ? 0 : element_count(each.shape()); });
  E* copy = copied == 0 ? nullptr : scratch<E>(3, copied);
  const U* data[total];
  std::int64_t columns[total], N = 0;
  int index = 0;
  for_each_of(panels, [&](const View<const E, 3>& each) {
    columns[index] = std::max<std::int64_t>(0, each.extent(0) * panel_columns - padding);
    data[index] = reinterpret_cast<const U*>(dense_panels(each, copy));
    N += columns[index++];
  });
  if (M == 0 || N == 0) return;
  multiply(data, columns, threads_for(stream, std::max(M * N * K / 64, N * K / 4)));
}

template <int TileM, int TileN, class A, class P, class C>
void packed_matmul(const A& a, const P& panels, std::int64_t padding, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  using U = view_element_t<first_of_t<P>>;
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  with_panels<U>(a, panels, padding, stream, [&](const auto& data, const auto& columns, int threads) {
    if constexpr (std::is_same_v<T, U>) {
      if (pays_to_place<T>(M, K, columns, threads)) {
        return multiply_placed<T>(a, data, columns, near_rows<T, TileM, TileN>(), c, threads);
      }
    }
    // Sums of 8 rows at once lie in memory; of 4 in registers, for which what is converted is converted twice.
    constexpr int of_eight = std::is_same_v<T, U> ? 4 : 8;
    with_row_panels<RegisterTile<T>::rows, of_eight>(
        M, [&]<int Rows>() { multiply_packed<Rows, TileM, TileN, T>(a, data, columns, K, c, threads); });
  });
}

}  // namespace kgen::cpu
