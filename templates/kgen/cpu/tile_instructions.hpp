// The instructions that multiply whole tiles (AMX_BF16, AMX_INT8). There are eight tiles of 16 rows of 64 bytes: a row
// is 16 sums of 32 bits, or 16 pairs (pairs.hpp) or fours (quads.hpp) of what is multiplied.
//
// KGEN_PLAIN_TILES has the same in plain C++, to the bit, so that what is built of them can be tested on any machine.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "kgen/cpu/pairs.hpp"
#include "kgen/cpu/quads.hpp"

#if defined(__AMX_TILE__) && defined(__linux__) && defined(KGEN_REGISTERS) && !defined(KGEN_PLAIN_TILES)
#include <sys/syscall.h>
#include <unistd.h>
#define KGEN_TILES 1
#endif

namespace kgen::cpu {

// Whether there are tiles of Unit, which is Pair or Quad. A tile's sums of pairs are not those of multiply-adds in the
// order of k: of 32 values of k the even and the odd ones are summed apart, from 0, then together, and what is smaller
// than 2^-126 counts as 0. So `match_unfused` does without.
template <class Unit>
inline constexpr bool has_tiles = false;
#if (defined(KGEN_PLAIN_TILES) || (defined(KGEN_TILES) && defined(__AMX_BF16__))) && !defined(KGEN_MATCH_UNFUSED)
template <>
inline constexpr bool has_tiles<Pair> = true;
#endif
#if defined(KGEN_PLAIN_TILES) || (defined(KGEN_TILES) && defined(__AMX_INT8__))
template <>
inline constexpr bool has_tiles<Quad> = true;
#endif

// Whether this process may use tiles: Linux wants to be asked once, since their state makes signals' frames larger.
inline bool tiles_granted() {
#if defined(KGEN_TILES)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return granted;
#else
  return true;
#endif
}

#if defined(KGEN_TILES)

// While one exists, this thread's tiles have 16 rows of 64 bytes. Other libraries give them other shapes.
struct TileShapes {
  TileShapes() {
    struct alignas(64) Shapes {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    const Shapes shapes;
    asm volatile("ldtilecfg %0" ::"m"(shapes));
  }
  ~TileShapes() { asm volatile("tilerelease" ::); }
  TileShapes(const TileShapes&) = delete;
  TileShapes& operator=(const TileShapes&) = delete;
};

// To and from rows `row_bytes` apart. Loads do not say that they read memory: what they read is to be written before
// tiles_see_memory.
inline void tiles_see_memory() { asm volatile("" ::: "memory"); }
template <int Tile>
KGEN_FN void load_tile(const void* from, std::int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(Tile));
}
template <int Tile>
KGEN_FN void store_tile(void* to, std::int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(Tile) : "memory");
}
template <int Tile>
KGEN_FN void zero_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
}

// Adds to row i, lane j of tile Sums the products of row i of Left by lane j of all rows of Right; of fours, those of u8
// by i8.
template <class Unit, int Sums, int Left, int Right>
KGEN_FN void multiply_tile() {
  if constexpr (std::is_same_v<Unit, Pair>) {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
  } else {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
  }
}

#else

struct TileShapes {};

using TileRow = std::uint32_t[16];
inline thread_local TileRow plain_tiles[8][16];

inline void tiles_see_memory() {}
template <int Tile>
void load_tile(const void* from, std::int64_t row_bytes) {
  for (int i = 0; i < 16; ++i) std::memcpy(plain_tiles[Tile][i], static_cast<const char*>(from) + i * row_bytes, 64);
}
template <int Tile>
void store_tile(void* to, std::int64_t row_bytes) {
  for (int i = 0; i < 16; ++i) std::memcpy(static_cast<char*>(to) + i * row_bytes, plain_tiles[Tile][i], 64);
}
template <int Tile>
void zero_tile() {
  std::memset(plain_tiles[Tile], 0, sizeof(plain_tiles[Tile]));
}

// sum + the products of a row by lane j of all of `right`.
inline float add_row_products(float sum, const TileRow& row, const TileRow (&right)[16], int j) {
  const auto flushed = [](float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; };
  const auto upper = [&](std::uint32_t pair) { return flushed(std::bit_cast<float>(pair & 0xffff0000u)); };
  const auto lower = [&](std::uint32_t pair) { return flushed(std::bit_cast<float>(pair << 16)); };
  float sums[2] = {};  // of products that are exact
  for (int p = 0; p < 16; ++p) {
    sums[0] = flushed(sums[0] + lower(row[p]) * lower(right[p][j]));
    sums[1] = flushed(sums[1] + upper(row[p]) * upper(right[p][j]));
  }
  return flushed(flushed(sum) + flushed(sums[0] + sums[1]));
}
static_assert(!left_is_signed);
inline std::int32_t add_row_products(std::int32_t sum, const TileRow& row, const TileRow (&right)[16], int j) {
  std::int64_t total = sum;
  for (int q = 0; q < 16; ++q) {
    for (int byte = 0; byte < 32; byte += 8) {
      total += std::int64_t{static_cast<std::uint8_t>(row[q] >> byte)} * static_cast<std::int8_t>(right[q][j] >> byte);
    }
  }
  return static_cast<std::int32_t>(total);
}

template <class Unit, int Sums, int Left, int Right>
void multiply_tile() {
  using T = std::conditional_t<std::is_same_v<Unit, Pair>, float, std::int32_t>;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      std::uint32_t& sum = plain_tiles[Sums][i][j];
      sum = std::bit_cast<std::uint32_t>(
          add_row_products(std::bit_cast<T>(sum), plain_tiles[Left][i], plain_tiles[Right], j));
    }
  }
}

#endif

}  // namespace kgen::cpu
