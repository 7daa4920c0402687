// Products of bf16 and of bytes by the instructions that multiply whole tiles (tile_instructions.hpp): one adds to 16 x
// 16 sums the products of 16 rows by 16 columns over 16 pairs or fours along the depth, 512 or 1024 multiply-adds a
// cycle, where AVX512_BF16 does 32 a register and AVX512_VNNI 64. The right operand's panels are those of pairs.hpp and
// quads.hpp, whose memory a tile takes as it lies; the left one's are rows of 64 bytes.
//
// On an Emerald Rapids, one thread, bf16 by pairs and by tiles: 1024x1024x1024 33.4 to 3.1 ms, 128x3072x768 with constant
// weights 10.1 to 2.4.
#pragma once

#include "kgen/cpu/tile_instructions.hpp"

namespace kgen::cpu {

// A pair or a four of a matrix that tiles multiply: the products are another kernel's, so the type is.
template <class U>
struct TileUnit {
  U unit;
};
using TilePair = TileUnit<Pair>;
using TileQuad = TileUnit<Quad>;
template <class P>
inline constexpr bool is_tiled = false;
template <class U>
inline constexpr bool is_tiled<TileUnit<U>> = true;

inline constexpr std::int64_t tile_height = 16, tile_depth = 16;  // of units, of which a row of a tile has 64 bytes

// Two by two tiles of sums, with two of either operand: all eight that there are.
template <class T, class U>
struct RegisterTile<T, TileUnit<U>> {
  static constexpr int rows = 32, vectors = 2, lanes = 16, columns = 32;
};

template <class P>
inline constexpr bool is_pair = std::is_same_v<P, Pair> || std::is_same_v<P, TilePair>;

// Whether a left operand's rows of bf16 may be those of tiles.
template <class V>
bool fits_tiles(const V& a) {
  return a.stride(1) == 1 && tiles_granted();
}

// What a thread has while it multiplies elements of P.
template <class P>
struct TilesInUse {};
template <class U>
struct TilesInUse<TileUnit<U>> : TileShapes {};

// Where a block of the right operand lies: 16 columns of each unit of the depth side by side, the next one `row_stride`
// units further, the next 16 columns `next_columns`.
template <class U>
struct TileColumns {
  const U* data;
  std::int64_t row_stride, next_columns;
};

// sums[i * stride + j] = (fresh ? 0 : sums[i * stride + j]) + the products of a left panel (pack_left), the first
// 16 * Tiles rows of it, by 16 * Columns columns, over `depth` units, a multiple of tile_depth. Meanwhile `next` is
// fetched.
template <int Tiles, int Columns, class U, class T>
inline __attribute__((noinline)) void multiply_tiles(const TileUnit<U>* left, const TileColumns<U>& right,
                                                     std::int64_t depth, T* sums, std::int64_t stride, bool fresh,
                                                     PacedPrefetch& next) {
  const std::int64_t sum_bytes = stride * 4, right_bytes = right.row_stride * 4;
  [[maybe_unused]] T *low = sums + tile_height * stride, *beside = sums + 16, *low_beside = low + 16;
  tiles_see_memory();
  if (fresh) {
    zero_tile<0>();
    if constexpr (Columns == 2) zero_tile<1>();
    if constexpr (Tiles == 2) zero_tile<2>();
    if constexpr (Tiles == 2 && Columns == 2) zero_tile<3>();
  } else {
    load_tile<0>(sums, sum_bytes);
    if constexpr (Columns == 2) load_tile<1>(beside, sum_bytes);
    if constexpr (Tiles == 2) load_tile<2>(low, sum_bytes);
    if constexpr (Tiles == 2 && Columns == 2) load_tile<3>(low_beside, sum_bytes);
  }
  for (std::int64_t k = 0; k < depth; k += tile_depth, left += 2 * tile_height * tile_depth) {
    const U* columns = right.data + k * right.row_stride;
    load_tile<4>(left, 64);
    load_tile<6>(columns, right_bytes);
    multiply_tile<U, 0, 4, 6>();
    if constexpr (Columns == 2) {
      load_tile<7>(columns + right.next_columns, right_bytes);
      multiply_tile<U, 1, 4, 7>();
    }
    if constexpr (Tiles == 2) {
      load_tile<5>(left + tile_height * tile_depth, 64);
      multiply_tile<U, 2, 5, 6>();
      if constexpr (Columns == 2) multiply_tile<U, 3, 5, 7>();
    }
    next.step();
  }
  store_tile<0>(sums, sum_bytes);
  if constexpr (Columns == 2) store_tile<1>(beside, sum_bytes);
  if constexpr (Tiles == 2) store_tile<2>(low, sum_bytes);
  if constexpr (Tiles == 2 && Columns == 2) store_tile<3>(low_beside, sum_bytes);
}

// The same for the first `rows` rows of a panel.
template <int Columns, class U, class T>
void multiply_tile_rows(std::int64_t rows, const TileUnit<U>* left, const TileColumns<U>& right, std::int64_t depth,
                        T* sums, std::int64_t stride, bool fresh, PacedPrefetch& next) {
  if (rows > tile_height) {
    multiply_tiles<2, Columns>(left, right, depth, sums, stride, fresh, next);
  } else {
    multiply_tiles<1, Columns>(left, right, depth, sums, stride, fresh, next);
  }
}

// Left panels, by a right one of 32 columns whose units lie behind each other (LeftRows of panels.hpp).
template <class U>
struct LeftRows<TileUnit<U>> {
  const TileUnit<U>* data;

  template <class T>
  void multiply(std::int64_t first, std::int64_t rows, const TileUnit<U>* right, std::int64_t depth,
                const TileSums<T>& sums) const {
    PacedPrefetch nothing({}, 1);
    multiply_tile_rows<2>(rows, data + first * depth, TileColumns<U>{&right->unit, 32, 16}, depth, sums.from,
                          sums.stride, sums.fresh, nothing);
  }
};

// The row of a tile of a left operand [M, K]: tile_depth units of row `row` from unit `first` on. What lies beyond K is
// 0. In a pair the earlier k stands in the upper half, as in the right operand's.
template <class V>
void fill_tile_row(TilePair* to, const V& a, std::int64_t row, std::int64_t first) {
  const std::int64_t K = a.extent(1);
  const bf16* from = a.data() + row * a.stride(0) + 2 * first;
  if (2 * (first + tile_depth) <= K) {
    for (int j = 0; j < tile_depth; ++j) to[j].unit = pair_of(from[2 * j], from[2 * j + 1]);
  } else {
    for (std::int64_t j = 0; j < tile_depth; ++j) {
      const std::int64_t k = 2 * (first + j);
      to[j].unit = pair_of(k < K ? from[2 * j] : bf16(0.0f), k + 1 < K ? from[2 * j + 1] : bf16(0.0f));
    }
  }
}
template <class S>
void fill_tile_row(TileQuad* to, const S& a, std::int64_t row, std::int64_t first) {
  using Byte = source_lane_t<S, 2>;
  const Range bytes{4 * first, std::min(a.shape()[1], 4 * (first + tile_depth))};
  if (bytes.end - bytes.begin < 4 * tile_depth) std::fill_n(to, tile_depth, TileQuad{});
  copy_bytes<Byte>(reinterpret_cast<std::uint8_t*>(to), a, row, bytes, turned_on_left<Byte>);
}

// As pack_left and pack_right of matmul.hpp. Panels of 32 rows of a left operand, whose neighbours along k lie together
// where they are bf16, for units of which there are a multiple of tile_depth: for each tile_depth of them two tiles, row
// after row. What lies beyond M and K is 0.
template <int Width, class U, class S>
void pack_left(TileUnit<U>* to, const S& a, Range units, Range rows) {
  static_assert(Width == 2 * tile_height);
  constexpr std::int64_t of_unit = std::is_same_v<U, Pair> ? 2 : 4;
  for (std::int64_t row = rows.begin; row < rows.end; row += Width) {
    for (std::int64_t first = units.begin; first < units.end; first += tile_depth) {
      for (std::int64_t i = row; i < row + Width; ++i, to += tile_depth) {
        if (i < rows.end && of_unit * first < a.shape()[1]) {
          fill_tile_row(to, a, i, first);
        } else {
          std::fill_n(to, tile_depth, TileUnit<U>{});
        }
      }
    }
  }
}
template <int Width, class V>
void pack_right(TilePair* panels, const V& b, Range pairs, Range columns) {
  const std::int64_t elements = (pairs.end - pairs.begin + 1) * Width;
  pack_pairs<Width>(&panels->unit, elements, b.template permute<1, 0>(), pairs, columns);
}

}  // namespace kgen::cpu
