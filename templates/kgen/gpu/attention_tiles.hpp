// What a block of warpgroup_attention.hpp has in shared memory and registers, and where its results go.
#pragma once

#include "kgen/gpu/attention_scores.hpp"
#include "kgen/gpu/warpgroup_sums.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What travels in the stages of the ring, keys or values, and what a block keeps of its queries: boxes of lines of 64
// elements of a head, one after the other, swizzled; lines are keys, or rows. Width: elements of a head, with zeros
// behind them. As many keys as the registers of Warpgroups that multiply have room for, with what a mask needs of them
// if there is one, or pages, and shared memory.
template <class T, int Width, int Warpgroups, bool IsMasked, bool IsPaged>
struct AttentionTiles {
  static constexpr int line = swizzle_bytes / static_cast<int>(sizeof(T));
  static constexpr int rows = 64, block_rows = Warpgroups * rows;
  static constexpr int keys = Width <= 128 ? 128 : IsMasked || IsPaged ? 64 : 80;
  static constexpr int stages = Width > 64 ? 4 : 8, query_stages = Width > 128 ? 1 : 2;
  // Registers of a thread that loads, and of one that multiplies: together those that the launch gives.
  static constexpr int loading_registers = Warpgroups > 2 ? 32 : Width > 128 ? 40 : 56;
  static constexpr int multiplying_registers = Warpgroups > 2 ? 160 : Width > 128 ? 232 : 224;
  static constexpr bool computes_queries = Warpgroups <= 2;  // or there are registers for the copy engine's alone
  struct alignas(tile_alignment) Keys {
    T lines[keys * Width];
  };
  struct alignas(tile_alignment) Queries {
    T lines[block_rows * Width];
  };
};

// Operands as the copy engine is told of them. Queries that it does not take, or that are computed, come through
// registers.
struct AttentionOperands {
  TensorMap q, k, v;
  bool brings_queries;
  int box;  // of keys: see EngineKeys
};

// A sink of [B, S, H, D] as one of the rows of one head of keys.
template <class Counted, class Out>
struct RowsOfHead {
  const Counted& counted;
  const Out& out;

  template <int W>
  KGEN_FN void operator()(Index<2> at, const Vec<float, W>& lanes) const {
    Index<4> place = counted.query(static_cast<int>(at[0]));
    place[3] = at[1];
    store_to(out, place, lanes);
  }
};

// Whether results go to memory as they are, in elements of 16 bits.
template <class Out>
inline constexpr bool has_rows_in_memory = [] {
  if constexpr (is_view<Out>) return sizeof(typename Out::element_type) == 2;
  return false;
}();

// What transpose_pairs() does with pairs of 32 bits each, with a word of each group.
template <class Word>
KGEN_FN void transpose_words(Word (&words)[4]) {
  KGEN_UNROLL
  for (int bit = 1; bit <= 2; bit *= 2) {
    KGEN_UNROLL
    for (int group = 0; group < 4; ++group) {
      if ((group & bit) == 0) exchange(words[group], words[group + bit], bit);
    }
  }
}

// Puts a warpgroup's sums there, in whole vectors, as far as `extents`. Pairs of elements change places in half as many
// shuffles as sums do, and a thread finds the addresses of its two rows alone: a tile's results took 2.0 us by
// emit_sums(), and take 1.1.
template <int Width, class Counted, class Out>
KGEN_FN void store_rows(const float (&sums)[Width / 2], const Out& out, const Counted& counted, Index<2> extents) {
  using Element = typename Out::element_type;
  constexpr int lanes = 8, step = 4 * lanes;  // of a thread, of a quad
  // Else the compiler would have registers for addresses ahead of the loop over keys.
  std::int32_t none[1] = {0};
  settle(none);
  const int column = (thread_index() + none[0]) % 4 * lanes;
  KGEN_UNROLL
  for (int second = 0; second < 2; ++second) {
    const int row = counted.row + 8 * second + none[0];
    const Index<4> at = counted.query(row);
    Element* to = out.data() + column;
    KGEN_UNROLL
    for (int axis = 0; axis < 3; ++axis) to += at[axis] * out.stride(axis);
    std::uint32_t pairs[Width / step][4];
    KGEN_UNROLL
    for (int i = 0; i < Width / lanes; ++i) pairs[i / 4][i % 4] = as_pair<Element>(sums + i * 4 + second * 2);
    KGEN_UNROLL
    for (int i = 0; i < Width / step; ++i) transpose_words(pairs[i]);
    if (row >= extents[0]) continue;
    KGEN_UNROLL
    for (int i = 0; i < Width / step; ++i) {
      Block<16> block;
      memcpy(&block, pairs[i], sizeof(block));
      if (i * step + column < extents[1]) store_global(to + i * step, block);
    }
  }
}

}  // namespace kgen::gpu

#endif
