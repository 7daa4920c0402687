// What one instruction of matrix cores does, as a step of a matrix product by a wave (wave_matmul.hpp): MmaTile,
// MfmaTile and WmmaTile. Each takes its operands from tiles in shared memory (TileLayout), and has:
//
//   rows, columns, depth       of what it multiplies; the depth is two pieces of 16 bytes
//   sums                       of a lane
//   Left, Right                what a lane has of operands, in words
//   load_left<Layout>(tile, row, k), load_right<Layout>(tile, column, k)   from these rows, columns and depth on
//   multiply(sums, left, right)   sums += left * right
// and of those sums what a Layout of emit_sums.hpp has: steps, sum(), gather(), position(), first_row() and
// is_of_quads.
#pragma once

#include "kgen/gpu/emit_sums.hpp"
#include "kgen/gpu/matrix_cores.hpp"

namespace kgen::gpu {

// How `Extent` rows of a left operand, or columns of a right one, lie in shared memory, 64 bytes of their depth: in
// lines along the depth (Deep) or across it. The pieces of 16 bytes of a line change places by the line's number, so
// that what a wave reads or writes at a time lies in different banks.
template <class T, int Extent, bool Deep>
struct TileLayout {
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T)), depth = 4 * lanes;
  static constexpr bool deep = Deep;
  static constexpr int lines = Deep ? Extent : depth, pieces = (Deep ? depth : Extent) / lanes;
  static constexpr int elements = Extent * depth;
  static_assert(pieces >= 4 && (pieces & (pieces - 1)) == 0);

  // Where a piece of a line is.
  KGEN_FN static int piece(int line, int number) {
    constexpr int banks =
        pieces < 8 ? pieces : 8;  // of 16 bytes, that a line reaches: two lines reach all of them, or one
    return (line * pieces + (number ^ line / (8 / banks) % banks)) * lanes;
  }
  // And an element of a row or column.
  KGEN_FN static int element(int at, int k) {
    const int line = Deep ? at : k, along = Deep ? k : at;
    return piece(line, along / lanes) + along % lanes;
  }
};

// The words that `Count` elements of a tile make, of a row or column from `k` on.
template <class Layout, int Words, class T>
KGEN_FN void load_depth(std::uint32_t (&to)[Words], const T* tile, int at, int k) {
  constexpr int lanes = Layout::lanes;
  static_assert(Words % 4 == 0);
  if constexpr (Layout::deep) {
    KGEN_UNROLL
    for (int i = 0; i < Words / 4; ++i) {
      const Block<16> block = load_block<16>(tile + Layout::piece(at, k / lanes + i), Access{});
      memcpy(to + 4 * i, &block, sizeof(block));
    }
  } else {
    T elements[Words * 4 / sizeof(T)];
    KGEN_UNROLL
    for (int i = 0; i < Words * 4 / static_cast<int>(sizeof(T)); ++i) elements[i] = tile[Layout::element(at, k + i)];
    memcpy(to, elements, sizeof(to));
  }
}

// mma.sync of four times 8 columns.
template <class T>
struct MmaTile {
  static constexpr int rows = 16, columns = 32, depth = 16, sums = 16, steps = 2;
  static constexpr bool is_of_quads = true;
  using Left = std::uint32_t[4];
  using Right = std::uint32_t[8];

  template <class Layout>
  KGEN_FN static void load_left(Left& left, const T* tile, int row, int k) {
    const int lane = thread_index() % 32;
    if constexpr (Layout::deep) {
      load_matrices<false>(left, tile + Layout::piece(row + lane % 16, k / 8 + lane / 16));
    } else {
      load_matrices<true>(left, tile + Layout::piece(k + lane % 8 + lane / 16 * 8, row / 8 + lane / 8 % 2));
    }
  }
  template <class Layout>
  KGEN_FN static void load_right(Right& right, const T* tile, int column, int k) {
    const int lane = thread_index() % 32;
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int first = column + i * 16;
      std::uint32_t words[4];
      if constexpr (Layout::deep) {
        load_matrices<false>(words, tile + Layout::piece(first + lane % 8 + lane / 16 * 8, k / 8 + lane / 8 % 2));
      } else {
        load_matrices<true>(words, tile + Layout::piece(k + lane % 16, first / 8 + lane / 16));
      }
      KGEN_UNROLL
      for (int word = 0; word < 4; ++word) right[4 * i + word] = words[word];
    }
  }
  KGEN_FN static void multiply(float (&all)[sums], const Left& left, const Right& right) {
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      float some[4] = {all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]};
      multiply_tile<T>(some, left, {right[2 * i], right[2 * i + 1]});
      KGEN_UNROLL
      for (int each = 0; each < 4; ++each) all[4 * i + each] = some[each];
    }
  }

  KGEN_FN static float sum(const float (&all)[sums], int step, int lane) {
    return all[lane / 2 * 4 + step * 2 + lane % 2];
  }
  KGEN_FN static void gather(float (&lanes)[8]) { transpose_pairs<1>(lanes); }
  KGEN_FN static int first_row(int step) { return step * 8; }
  KGEN_FN static Index<2> position(int step) {
    const int lane = thread_index() % 32;
    return {step * 8 + lane / 4, lane % 4 * 8};
  }
};

// One of two numbers, without a branch and without a choice between addresses.
KGEN_FN float one_of(bool first, float a, float b) {
  const std::uint32_t mask = first ? ~0u : 0u;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}
// Exchanges 4 of a lane's 8 sums for 4 of the lane that is `Distance` away: the lower lanes give their last and get the
// other's first.
template <int Distance>
KGEN_FN void exchange_halves(float (&got)[4], const float (&lanes)[8], bool upper) {
  KGEN_UNROLL
  for (int i = 0; i < 4; ++i) {
    const auto sent = std::bit_cast<std::uint32_t>(one_of(upper, lanes[i], lanes[4 + i]));
    got[i] = std::bit_cast<float>(shuffle_xor(sent, Distance, wave_size, Where::here()));
  }
}

// v_mfma_f32_32x32x8, twice. Its left operand are this product's columns, so that a lane has neighbours of one row.
template <class T>
struct MfmaTile {
  static constexpr int rows = 32, columns = 32, depth = 16, sums = 16, steps = 2;
  static constexpr bool is_of_quads = false;
  using Left = std::uint32_t[4];
  using Right = std::uint32_t[4];

  // Which depth a lane has of either operand is all one, as long as it is the same.
  template <class Layout>
  KGEN_FN static void load_left(Left& left, const T* tile, int row, int k) {
    const int lane = thread_index() % 64;
    load_depth<Layout>(left, tile, row + lane % 32, k + lane / 32 * 8);
  }
  template <class Layout>
  KGEN_FN static void load_right(Right& right, const T* tile, int column, int k) {
    load_left<Layout>(right, tile, column, k);
  }
  KGEN_FN static void multiply(float (&all)[sums], const Left& left, const Right& right) {
    mfma<T>(all, {right[0], right[1]}, {left[0], left[1]});
    mfma<T>(all, {right[2], right[3]}, {left[2], left[3]});
  }

  KGEN_FN static float sum(const float (&all)[sums], int step, int lane) { return all[step * 8 + lane]; }
  KGEN_FN static void gather(float (&lanes)[8]) {
    const bool upper = thread_index() % 64 >= 32;
    float got[4];
    exchange_halves<32>(got, lanes, upper);
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      lanes[i] = one_of(upper, got[i], lanes[i]);
      lanes[4 + i] = one_of(upper, lanes[4 + i], got[i]);
    }
  }
  KGEN_FN static int first_row(int) { return 0; }
  KGEN_FN static Index<2> position(int step) {
    const int lane = thread_index() % 64;
    return {lane % 32, step * 16 + lane / 32 * 8};
  }
};

// v_wmma_f32_16x16x16. Its left operand are this product's columns, so that a lane has every other one of a row.
template <class T>
struct WmmaTile {
  static constexpr int rows = 16, columns = 16, depth = 16, sums = 8, steps = 1;
  static constexpr bool is_of_quads = false;
  using Left = std::uint32_t[8];
  using Right = std::uint32_t[8];

  template <class Layout>
  KGEN_FN static void load_left(Left& left, const T* tile, int row, int k) {
    load_depth<Layout>(left, tile, row + thread_index() % 16, k);
  }
  template <class Layout>
  KGEN_FN static void load_right(Right& right, const T* tile, int column, int k) {
    load_left<Layout>(right, tile, column, k);
  }
  KGEN_FN static void multiply(float (&all)[sums], const Left& left, const Right& right) { wmma<T>(all, right, left); }

  KGEN_FN static float sum(const float (&all)[sums], int, int lane) { return all[lane]; }
  KGEN_FN static void gather(float (&lanes)[8]) {
    const bool upper = thread_index() % 32 >= 16;
    float got[4], own[4];
    exchange_halves<16>(got, lanes, upper);
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) own[i] = one_of(upper, lanes[4 + i], lanes[i]);
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      lanes[2 * i] = one_of(upper, got[i], own[i]);
      lanes[2 * i + 1] = one_of(upper, own[i], got[i]);
    }
  }
  KGEN_FN static int first_row(int) { return 0; }
  KGEN_FN static Index<2> position(int) {
    const int lane = thread_index() % 32;
    return {lane % 16, lane / 16 * 8};
  }
};

// That of the device which this is compiled for. A type of its own, as the host names kernels by it.
template <class T>
struct DeviceTile : std::conditional_t<has_mfma, MfmaTile<T>, std::conditional_t<has_mma, MmaTile<T>, WmmaTile<T>>> {};

// Whether that is one.
inline constexpr bool has_matrix_cores = has_mma || has_mfma || has_wmma;

}  // namespace kgen::gpu
