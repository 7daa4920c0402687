// Products of floats of 8 bits with a scale for each 128 of the depth of both operands, on the tensor cores of Hopper.
// The parts are warpgroup_matmul.hpp's, but that the sums of each stage, whose depth is that of a scale, are multiplied
// by the stage's scales as they are added to those of the stages before: in f32, which they need anyway, for the tensor
// cores keep 13 bits of them. Other devices and what the copy engine does not take have a prologue of each operand.
#pragma once

#include "kgen/divide.hpp"
#include "kgen/gpu/matmul.hpp"
#include "kgen/scaled_blocks.hpp"

namespace kgen::gpu {

#if defined(KGEN_WARPGROUPS)

// Scales of blocks of 128 of the depth.
struct BlockScales {
  View<const float, 2> rows;     // [M, blocks]
  View<const float, 2> columns;  // [blocks, N / width, rounded up]
  Divider width;                 // columns that share a scale

  KGEN_FN float of_row(int row, int block) const { return rows.load<1>(Index<2>{row, block}).data; }
  KGEN_FN float of_group(int group, int block) const { return columns.load<1>(Index<2>{block, group}).data; }
  KGEN_FN int group(int column) const {
    auto within = static_cast<std::uint32_t>(column);
    return static_cast<int>(width.split(within));
  }
};

// Tiles of 128 rows and so many columns. Shared: the 128 columns from a multiple of 128 on have one scale, or all have;
// else each thread takes those of its own columns, of which it must not have many.
template <int Columns, bool Shared, class Loads>
struct BlockScaledMatmul {
  using T = f8e4m3;
  using Tiles = WarpgroupMatmul<T, Columns, true, Loads>;
  using Pipeline = typename Tiles::Pipeline;
  static constexpr int depth = Tiles::depth, held = Columns < 128 ? Columns : 128;  // columns multiplied at a time
  static constexpr int parts = Columns / held;
  static_assert(depth == scaled_depth && (Shared || parts == 1));

  // A warpgroup: multiplies half of the rows of each tile, and gives the sums to its sink.
  template <class C>
  KGEN_FN static void multiply(Pipeline& pipeline, const C& c, const BlockScales& scales,
                               const WarpgroupMatmulShape<1>& shape) {
    const auto body = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      float sums[Count][Columns / 2] = {};
      const Index<2> extents{shape.M, end};
      add_stages(pipeline, sums[0], scales, origin, extents, shape.steps(depth));
      Tiles::template emit_tile<true>(sums, sink, origin, extents, shape.lanes);
    };
    using Order = typename Tiles::Order;
    for (int tile = Order::first(); tile < shape.tiles; tile += Order::step()) Order::at(tile, c, shape, body);
  }

 private:
  // What is behind the last row or column is made, and goes nowhere.
  KGEN_FN static int before(std::int64_t place, std::int64_t end) {
    const int last = static_cast<int>(end) - 1, at = static_cast<int>(place);
    return at < last ? at : last;
  }
  // The first of a thread's two rows, which are 8 apart, as WarpgroupSums has them.
  KGEN_FN static std::int64_t first_row(Index<2> origin) {
    const int thread = thread_index() % warpgroup_threads;
    return origin[0] + Tiles::first_row() + thread / wave_size * 16 + thread % wave_size / 4;
  }

  KGEN_FN static void add_stages(Pipeline& pipeline, float (&sums)[Columns / 2], const BlockScales& scales,
                                 Index<2> origin, Index<2> extents, int steps) {
    const int a = Tiles::first_row() * depth;
    int rows[2], groups[parts];
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) rows[i] = before(first_row(origin) + 8 * i, extents[0]);
    KGEN_UNROLL
    for (int i = 0; i < parts; ++i) groups[i] = scales.group(before(origin[1] + i * held, extents[1]));
    for (int block = 0; block < steps; ++block) {
      float of_rows[2], of_columns[parts];
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) of_rows[i] = scales.of_row(rows[i], block);
      KGEN_UNROLL
      for (int i = 0; i < parts; ++i) of_columns[i] = scales.of_group(groups[i], block);
      auto stage = pipeline.read();
      KGEN_UNROLL
      for (int i = 0; i < parts; ++i) {
        float part[held / 2];
        wgmma_fence();
        WarpgroupProduct<T, held, true>::multiply(part, stage->a + a, stage->b + i * held * depth, false);
        wgmma_commit();
        wgmma_wait<0>();
        settle(part);
        if (i + 1 == parts) stage = {};  // what is added up needs no more of it
        if constexpr (Shared) {
          add(sums, i * held / 2, part, {of_rows[0] * of_columns[i], of_rows[1] * of_columns[i]});
        } else {
          add_columns(sums, part, of_rows, scales, block, origin, extents);
        }
      }
    }
  }

  // Of four neighbours among a thread's sums two are of either row, and of two columns that are neighbours.
  KGEN_FN static void add(float (&sums)[Columns / 2], int first, const float (&part)[held / 2],
                          const float (&factors)[2]) {
    KGEN_UNROLL
    for (int i = 0; i < held / 2; ++i) sums[first + i] += part[i] * factors[i / 2 % 2];
  }
  KGEN_FN static void add_columns(float (&sums)[Columns / 2], const float (&part)[held / 2], const float (&of_rows)[2],
                                  const BlockScales& scales, int block, Index<2> origin, Index<2> extents) {
    KGEN_UNROLL
    for (int i = 0; i < held / 2; i += 4) {
      KGEN_UNROLL
      for (int one = 0; one < 2; ++one) {
        const std::int64_t column = origin[1] + thread_index() % 4 * 2 + i * 2 + one;
        const float scale = scales.of_group(scales.group(before(column, extents[1])), block);
        sums[i + one] += part[i + one] * (of_rows[0] * scale);
        sums[i + 2 + one] += part[i + 2 + one] * (of_rows[1] * scale);
      }
    }
  }
};

template <int Columns, bool Shared, class Loads, class C>
KGEN_GLOBAL((has_warpgroups ? WarpgroupMatmul<f8e4m3, Columns, true, Loads>::threads : 1), 1)
block_scaled_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, const KGEN_GRID_CONSTANT RowsAhead ahead, C c,
                           WarpgroupMatmulShape<1> shape, BlockScales scales) {
  if constexpr (has_warpgroups) {
    using Matmul = BlockScaledMatmul<Columns, Shared, Loads>;
    using Tiles = typename Matmul::Tiles;
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Tiles::multiplying_threads / wave_size);
    take_turn();
    if (thread_index() < Tiles::loading_threads) {
      hold_registers<Tiles::loading_registers, RegisterShare::less>();
      if (thread_index() < Loads::threads) Tiles::load(pipeline, loads, ahead, c, shape);
    } else {
      hold_registers<Tiles::multiplying_registers, RegisterShare::more>();
      Matmul::multiply(pipeline, c, scales, shape);
    }
  }
}

// The copy engine's loads of such tiles.
template <int Columns>
struct BlockScaledTiles : EngineTiles<OperandTiles<f8e4m3, Columns>, true, 1> {
  static constexpr const char* name = "block_scaled_matmul";
};

template <int Columns, bool Shared, class A, class B, class C>
bool launch_block_scaled(const A& a, const B& b, const BlockScales& scales, const C& c,
                         const WarpgroupMatmulShape<1>& shape, const DeviceLimits& limits, Stream stream) {
  using Tiles = OperandTiles<f8e4m3, Columns>;
  using Loads = BlockScaledTiles<Columns>;
  return launch_tiles<WarpgroupMatmul<f8e4m3, Columns, true, Loads>, Columns>(
      block_scaled_matmul_kernel<Columns, Shared, Loads, C>, c, shape, limits, stream,
      [&] {
        const auto made = engine_tiles<f8e4m3, Tiles, true>(a, b, c);
        return made ? std::optional(Loads{*made}) : std::nullopt;
      },
      scales);
}

// c = a * b with these scales: false where device or compiler do not allow it.
template <class A, class B, class C>
bool warpgroup_block_scaled_matmul(const A& a, const B& b, const BlockScales& scales, std::int64_t width, const C& c,
                                   Stream stream) {
  const detail::AskedProducts<B> asked(a, b, c, 0);
  if (!asked.fits) return false;
  const auto& shape = asked.shape;
  const DeviceLimits limits = device_limits(stream);
  const bool shared = width % 128 == 0 || width >= shape.N[0];
  const auto runs = [&] {
    using Loads = BlockScaledTiles<128>;
    using Tiles = WarpgroupMatmul<f8e4m3, 128, true, Loads>;
    const auto kernel = block_scaled_matmul_kernel<128, false, Loads, C>;
    return limits.shared_bytes >= Tiles::Pipeline::shared() &&
           runs_warpgroups(reinterpret_cast<const void*>(kernel), Tiles::threads);
  };
  const auto multiply = [&](const auto& left, const auto& right) {
    if (!shared) return launch_block_scaled<128, false>(left, right, scales, c, shape, limits, stream);
    const int columns = best_columns<256, 128, 64>(shape, limits.multiprocessors, shape.steps(128));
    if (columns == 256) return launch_block_scaled<256, true>(left, right, scales, c, shape, limits, stream);
    if (columns == 128) return launch_block_scaled<128, true>(left, right, scales, c, shape, limits, stream);
    return launch_block_scaled<64, true>(left, right, scales, c, shape, limits, stream);
  };
  return detail::lay_out_and_multiply<f8e4m3, true>(
      a, b, stream, runs, [](std::int64_t, std::int64_t) { return false; }, multiply);
}

#endif

// c = a * b, of codes with scales of blocks of 128 of the depth, and for b of `width` columns.
template <class A, class B, class RowScales, class ColumnScales, class C>
void block_scaled_matmul(const A& a, const B& b, const RowScales& a_scale, const ColumnScales& b_scale,
                         std::int64_t width, const C& c, Stream stream) {
#if defined(KGEN_WARPGROUPS)
  if constexpr (is_memory_of<f8e4m3, A> && is_memory_of<f8e4m3, B> && !uses_rows<C>) {
    if (width > 0 && width < std::int64_t{1} << 31) {
      const BlockScales scales{a_scale, b_scale, Divider(width)};
      if (warpgroup_block_scaled_matmul(a, b, scales, width, c, stream)) return;
    }
  }
#endif
  matmul<96, 256, 23>(scaled_rows(a, a_scale), scaled_columns(b, b_scale, width), c, stream);
}

}  // namespace kgen::gpu
