// Products of bf16 by the instructions that multiply whole tiles (AMX_BF16): one adds to 16 x 16 sums the products of
// 16 rows by 16 columns over 32 values of k, 512 multiply-adds a cycle, where AVX512_BF16 does 32 a register. The right
// operand's panels are those of pairs.hpp, whose memory a tile takes as it lies; the left one's are rows of 64 bytes.
//
// A tile's sums are not those of multiply-adds in the order of k: of 32 values of k the even and the odd ones are
// summed apart, from 0, then together, and what is smaller than 2^-126 counts as 0. So `match_unfused` does without.
//
// On an Emerald Rapids, one thread, by pairs and by tiles: 1024x1024x1024 33.4 to 3.1 ms, 128x3072x768 with constant
// weights 10.1 to 2.4.
//
// KGEN_PLAIN_TILES has the same sums in plain C++ instead, so that what is around it can be tested on any machine.
#pragma once

#include <bit>

#include "kgen/cpu/pairs.hpp"

#if defined(__AMX_BF16__) && defined(__linux__) && defined(KGEN_REGISTERS) && !defined(KGEN_PLAIN_TILES)
#include <sys/syscall.h>
#include <unistd.h>
#define KGEN_TILES 1
#endif

namespace kgen::cpu {

// A pair of a matrix that tiles multiply: the products are another kernel's, so the type is.
struct TilePair {
  Pair pair;
};
inline constexpr std::int64_t tile_height = 16, tile_depth = 16;  // of pairs, of which a row of a tile has 64 bytes

#if (defined(KGEN_TILES) || defined(KGEN_PLAIN_TILES)) && !defined(KGEN_MATCH_UNFUSED)
inline constexpr bool has_tiles = true;
#else
inline constexpr bool has_tiles = false;
#endif

// Two by two tiles of sums, with two of either operand: all eight that there are.
template <>
struct RegisterTile<float, TilePair> {
  static constexpr int rows = 32, vectors = 2, lanes = 16, columns = 32;
};

// Whether this process may use tiles: Linux wants to be asked once, since their state makes signals' frames larger.
inline bool tiles_granted() {
#if defined(KGEN_TILES)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return granted;
#else
  return has_tiles;
#endif
}

template <class P>
inline constexpr bool is_pair = std::is_same_v<P, Pair> || std::is_same_v<P, TilePair>;

// Whether a left operand's rows may be those of tiles.
template <class V>
bool fits_tiles(const V& a) {
  return a.stride(1) == 1 && tiles_granted();
}

// While one exists, this thread's tiles have 16 rows of 64 bytes. Other libraries give them other shapes.
template <class P>
struct TilesInUse {};
#if defined(KGEN_TILES)
template <>
struct TilesInUse<TilePair> {
  TilesInUse() {
    struct alignas(64) Shapes {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    const Shapes shapes;
    asm volatile("" ::"m"(shapes));
    _tile_loadconfig(&shapes);
  }
  ~TilesInUse() { _tile_release(); }
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};
#endif

// Where a block of the right operand lies: 16 columns of each pair of rows side by side, the next pair `pair_stride`
// pairs further, the next 16 columns `next_columns`.
struct TileColumns {
  const Pair* data;
  std::int64_t pair_stride, next_columns;
};

#if defined(KGEN_TILES)

// sums[i * stride + j] = (fresh ? 0 : sums[i * stride + j]) + the products of a left panel (pack_left), the first
// 16 * Tiles rows of it, by 16 * Columns columns, over `depth` pairs, a multiple of tile_depth. Meanwhile `next` is
// fetched.
template <int Tiles, int Columns>
inline __attribute__((noinline)) void multiply_tiles(const TilePair* left, const TileColumns& right, std::int64_t depth,
                                                     float* sums, std::int64_t stride, bool fresh,
                                                     PacedPrefetch& next) {
  const std::int64_t sum_bytes = stride * 4, right_bytes = right.pair_stride * 4;
  [[maybe_unused]] float *low = sums + tile_height * stride, *beside = sums + 16, *low_beside = low + 16;
  asm volatile("" ::: "memory");  // what tiles load was written by now: their loads do not say that they read memory
  if (fresh) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, sum_bytes);
    if constexpr (Columns == 2) _tile_loadd(1, beside, sum_bytes);
    if constexpr (Tiles == 2) _tile_loadd(2, low, sum_bytes);
    if constexpr (Tiles == 2 && Columns == 2) _tile_loadd(3, low_beside, sum_bytes);
  }
  for (std::int64_t k = 0; k < depth; k += tile_depth, left += 2 * tile_height * tile_depth) {
    const Pair* columns = right.data + k * right.pair_stride;
    _tile_loadd(4, left, 64);
    _tile_loadd(6, columns, right_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Columns == 2) {
      _tile_loadd(7, columns + right.next_columns, right_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Tiles == 2) {
      _tile_loadd(5, left + tile_height * tile_depth, 64);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (Columns == 2) _tile_dpbf16ps(3, 5, 7);
    }
    next.step();
  }
  _tile_stored(0, sums, sum_bytes);
  if constexpr (Columns == 2) _tile_stored(1, beside, sum_bytes);
  if constexpr (Tiles == 2) _tile_stored(2, low, sum_bytes);
  if constexpr (Tiles == 2 && Columns == 2) _tile_stored(3, low_beside, sum_bytes);
}

#else

template <int Tiles, int Columns>
void multiply_tiles(const TilePair* left, const TileColumns& right, std::int64_t depth, float* sums,
                    std::int64_t stride, bool fresh, PacedPrefetch&) {
  const auto upper = [](Pair pair) { return std::bit_cast<float>(std::uint32_t{pair} & 0xffff0000u); };
  const auto lower = [](Pair pair) { return std::bit_cast<float>(std::uint32_t{pair} << 16); };
  for (std::int64_t i = 0; i < Tiles * tile_height; ++i) {
    for (std::int64_t j = 0; j < 16 * Columns; ++j) {
      float& sum = sums[i * stride + j];
      if (fresh) sum = 0;
      for (std::int64_t k = 0; k < depth; k += tile_depth) {
        const TilePair* row = left + (2 * k + i) * tile_depth;
        const Pair* column = right.data + k * right.pair_stride + j / 16 * right.next_columns + j % 16;
        float even = 0, odd = 0;
        for (std::int64_t p = 0; p < tile_depth; ++p, column += right.pair_stride) {
          even += lower(row[p].pair) * lower(*column);  // products are exact
          odd += upper(row[p].pair) * upper(*column);
        }
        sum += even + odd;
      }
    }
  }
}

#endif

// The same for the first `rows` rows of a panel.
template <int Columns>
void multiply_tile_rows(std::int64_t rows, const TilePair* left, const TileColumns& right, std::int64_t depth,
                        float* sums, std::int64_t stride, bool fresh, PacedPrefetch& next) {
  if (rows > tile_height) {
    multiply_tiles<2, Columns>(left, right, depth, sums, stride, fresh, next);
  } else {
    multiply_tiles<1, Columns>(left, right, depth, sums, stride, fresh, next);
  }
}

// Left panels, by a right one of 32 columns whose pairs lie behind each other (LeftRows of panels.hpp).
template <>
struct LeftRows<TilePair> {
  const TilePair* data;

  void multiply(std::int64_t first, std::int64_t rows, const TilePair* right, std::int64_t depth,
                const TileSums<float>& sums) const {
    PacedPrefetch nothing({}, 1);
    multiply_tile_rows<2>(rows, data + first * depth, {&right->pair, 32, 16}, depth, sums.from, sums.stride, sums.fresh,
                          nothing);
  }
};

// As pack_left and pack_right of matmul.hpp. Panels of 32 rows of a left operand [M, K] whose neighbours along k lie
// together, for `pairs`, of which there are a multiple of tile_depth: for each tile_depth of them two tiles, row after
// row. What lies beyond M and K is 0. In a pair the earlier k stands in the upper half, as in the right operand's.
template <int Width, class V>
void pack_left(TilePair* to, const V& a, Range pairs, Range rows) {
  static_assert(Width == 2 * tile_height);
  const std::int64_t K = a.extent(1);
  for (std::int64_t row = rows.begin; row < rows.end; row += Width) {
    for (std::int64_t p = pairs.begin; p < pairs.end; p += tile_depth) {
      for (std::int64_t i = row; i < row + Width; ++i, to += tile_depth) {
        const bf16* from = a.data() + i * a.stride(0) + 2 * p;
        if (i >= rows.end || 2 * p >= K) {
          std::fill_n(to, tile_depth, TilePair{});
        } else if (2 * (p + tile_depth) <= K) {
          for (int j = 0; j < tile_depth; ++j) to[j].pair = pair_of(from[2 * j], from[2 * j + 1]);
        } else {
          for (std::int64_t j = 0; j < tile_depth; ++j) {
            const std::int64_t k = 2 * (p + j);
            to[j].pair = pair_of(k < K ? from[2 * j] : bf16(0.0f), k + 1 < K ? from[2 * j + 1] : bf16(0.0f));
          }
        }
      }
    }
  }
}
template <int Width, class V>
void pack_right(TilePair* panels, const V& b, Range pairs, Range columns) {
  const std::int64_t elements = (pairs.end - pairs.begin + 1) * Width;
  pack_pairs<Width>(&panels->pair, elements, b.template permute<1, 0>(), pairs, columns);
}

}  // namespace kgen::cpu
