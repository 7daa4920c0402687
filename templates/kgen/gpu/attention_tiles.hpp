// What a block of warpgroup_attention.hpp has in shared memory and registers, and where its results go.
#pragma once

#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/warpgroup.hpp"

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
template <class Out>
struct RowsOfHead {
  const Out& out;
  std::int64_t b, first_head;
  int group;

  template <int W>
  KGEN_FN void operator()(Index<2> at, const Vec<float, W>& lanes) const {
    const int row = static_cast<int>(at[0]), query = row / group;
    store_to(out, Index<4>{b, query, first_head + (row - query * group), at[1]}, lanes);
  }
};

}  // namespace kgen::gpu

#endif
