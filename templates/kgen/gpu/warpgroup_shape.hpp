// What a launch says of products by warpgroups: sizes, how results are cut into tiles, and which of them are a block's.
#pragma once

#include "kgen/gpu/emit_sums.hpp"
#include "kgen/gpu/warpgroup.hpp"
#include "kgen/several.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Of `Count` products. Those of each group, which are beside each other, have tiles of their own.
template <int Count>
struct WarpgroupMatmulShape {
  std::int64_t M, K, N[Count];  // N: columns of a group
  int tiles;                    // of all products
  Lanes lanes;                  // of what the sinks read and write: whole vectors of 8, or any
  int groups = 1;
  int blocks = 1;         // that share the depth of a tile
  int batches = 1;        // of M rows each, one behind the other: each begins at a multiple of batch_rows()
  int columns_asked = 0;  // of a tile; 0: what takes the least time
  int most_tiles = 0;     // so many of them, from the first on; 0: all
  int first_tile = 0;     // those from there on, each cut into `parts` along its columns
  int parts = 1;
  bool allows_next = false;  // whether the kernel behind may find places while this one runs
  int tiles_at_once = 0;     // that blocks begin with, of which each goes on to others
  bool loads_ahead = false;  // whether weights come before what is ahead of the kernel is done
  int tile_rows = 128;       // of which each batch begins at a multiple
  bool dealt = false;        // whether columns of right operands come dealt to threads (tile_io.hpp)
  bool straddles = false;    // whether lines of right operands begin elsewhere than at multiples of 128 bytes

  // Tiles of `columns` columns that a group of product number `product` has beside each other.
  KGEN_FN int tiles_across(int product, int columns) const {
    return (static_cast<int>(N[product]) + columns - 1) / columns;
  }
  template <int Rows = 128>
  KGEN_FN TileOrder order(int columns, int first, int together) const {
    const int rows = batches * ((static_cast<int>(M) + Rows - 1) / Rows);
    return {rows, groups * tiles_across(first, columns / together), Rows > 128 ? 2048 / Rows : 16};
  }
  KGEN_FN int batch_rows() const { return static_cast<int>((M + tile_rows - 1) / tile_rows) * tile_rows; }
  // The end of the rows of its batch.
  KGEN_FN std::int64_t row_end(std::int64_t row) const {
    return batches == 1 ? M : row - static_cast<int>(row) % batch_rows() + M;
  }
  // The first column of a tile, and the end of its group's.
  KGEN_FN Index<2> columns(int product, int columns, std::int64_t tile) const {
    const int each = tiles_across(product, columns), group = groups == 1 ? 0 : static_cast<int>(tile) / each;
    return {group * N[product] + (static_cast<int>(tile) - group * each) * columns, (group + 1) * N[product]};
  }
  KGEN_FN int steps(int depth) const { return static_cast<int>((K + depth - 1) / depth); }
  // What memory takes for a share of the operands, which have so many steps of depth, in ns.
  double memory_time(std::int64_t steps, double share = 1) const {
    constexpr double bytes_of_ns = 4200;  // an H200's
    std::int64_t lines = M;
    for (const std::int64_t each : N) lines += each * groups;
    return static_cast<double>(lines * batches * steps * swizzle_bytes) / bytes_of_ns * share;
  }
  // The tiles of all sinks.
  template <int Rows = 128, class C>
  int count_tiles(const C& c, int columns) const {
    int all = 0;
    for_each_sink<Count>(c, [&]<int First, int Together>(const auto&) {
      const TileOrder own = order<Rows>(columns, First, Together);
      all += own.rows * own.columns;
    });
    return all;
  }
};

// body.operator()<First, Count>(sink, origin, end) for a tile of `Rows` rows and `width` columns: it is of the products
// First to First + Count, which `sink` takes together, and begins at row origin[0] and column origin[1]; its group's
// columns end at `end`.
template <int Rows = 128, int Products, class C, class Body>
KGEN_FN void at_tile(int tile, int width, const C& c, const WarpgroupMatmulShape<Products>& shape, const Body& body) {
  int rest = tile;
  for_each_sink<Products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
    const TileOrder order = shape.template order<Rows>(width, First, Count);
    const int own = order.rows * order.columns;
    if (rest >= 0 && rest < own) {
      // Divisions hold back a block's first loads: there are few of them where there are few rows.
      const bool has_bands = order.rows > order.band;
      const Index<2> place = order.rows == 1 ? Index<2>{0, rest}
                             : has_bands     ? order(rest)
                                             : Index<2>{rest % order.rows, rest / order.rows};
      const Index<2> columns = shape.columns(First, width / Count, place[1]);
      body.template operator()<First, Count>(sink, Index<2>{place[0] * Rows, columns[0]}, columns[1]);
    }
    rest -= own;
  });
}

// A block's tiles, in order: those of `Blocks` blocks of a cluster are one below the other.
template <int Columns, int Blocks>
struct BlockTiles {
  static constexpr int rows = 128 * Blocks;  // of the blocks of a cluster
  KGEN_FN static int first() { return static_cast<int>(block_index()) / Blocks; }
  KGEN_FN static int step() { return static_cast<int>(block_count()) / Blocks; }

  // at_tile() of the tile of this block.
  template <int Products, class C, class Body>
  KGEN_FN static void at(int tile, const C& c, const WarpgroupMatmulShape<Products>& shape, const Body& body) {
    if constexpr (Blocks == 1) {
      at_tile(tile, Columns, c, shape, body);
    } else {
      const auto own = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
        origin[0] += cluster_rank() * 128;
        body.template operator()<First, Count>(sink, origin, end);
      };
      at_tile<rows>(tile, Columns, c, shape, own);
    }
  }
};

}  // namespace kgen::gpu

#endif
