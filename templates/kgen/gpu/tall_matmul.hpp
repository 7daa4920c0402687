// warpgroup_matmul.hpp's kernel with tiles of 256 rows, of which each of two warpgroups multiplies 128: right operands
// come half as often. For convolutions of few columns, whose operands come more slowly than they are multiplied.
#pragma once

#include "kgen/gpu/warpgroup_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

template <class T, int Columns, bool BDeep, class Loads>
struct TallMatmul {
  static constexpr int rows = 256, halves = 2;  // of 64 rows, that a warpgroup multiplies
  using Tiles = OperandTiles<T, Columns, rows>;
  static constexpr int depth = Tiles::depth, stages = Columns == 128 ? 4 : 5, blocks = 1;
  static_assert(Columns <= 128);
  static constexpr bool by_engine = Loads::threads == 1;
  static_assert(by_engine && !sums_are_short<T>);
  using Pipeline = TilePipeline<Tiles, stages, 1>;
  static constexpr int loading_threads = warpgroup_threads, multiplying_threads = 2 * warpgroup_threads;
  static constexpr int threads = loading_threads + multiplying_threads;
  static constexpr int loading_registers = Loads::registers;
  static constexpr int multiplying_registers = (3 * 168 - loading_registers) / 2;

  // A block's tiles, in order, of shape.columns_asked columns each.
  struct Order {
    static constexpr int rows = TallMatmul::rows;
    template <class C, class Body>
    KGEN_FN static void for_each(const C& c, const WarpgroupMatmulShape<1>& shape, const Body& body) {
      for (int tile = static_cast<int>(block_index()); tile < shape.tiles; tile += static_cast<int>(block_count())) {
        at_tile<rows>(tile, shape.columns_asked, c, shape,
                      [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
                        const std::int64_t behind = origin[1] + shape.columns_asked;
                        body.template operator()<First, Count>(sink, origin, behind < end ? behind : end);
                      });
      }
    }
  };

  // Fills stage after stage of all tiles of a block, and asks for what the sink will read of each.
  template <class C>
  KGEN_FN static void load(Pipeline& pipeline, const Loads& loads, const RowsAhead& ahead, const C& c,
                           const WarpgroupMatmulShape<1>& shape) {
    Order::for_each(c, shape, [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      const int row = static_cast<int>(origin[0]), column = static_cast<int>(origin[1]);
      auto tile = loads.template tile<First, Count>(row, column);
      for (int k = 0; k < shape.steps(depth); ++k) tile.load(pipeline.fill());
      KGEN_UNROLL
      for (int part = 0; part < rows; part += RowsAhead::rows) ahead.ask(row + part, column, static_cast<int>(end));
    });
  }

  // A warpgroup: multiplies half of the rows of each tile, and gives the sums to its sink.
  template <class C>
  KGEN_FN static void multiply(Pipeline& pipeline, const C& c, const WarpgroupMatmulShape<1>& shape) {
    const int first_row = (thread_index() - loading_threads) / warpgroup_threads * halves * 64;
    Order::for_each(c, shape,
                    [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
                      float sums[halves][1][Columns / 2] = {};  // else those of the tile before would live until here
                      add_stages(pipeline, sums, first_row * depth, shape);
                      KGEN_UNROLL
                      for (int half = 0; half < halves; ++half) {
                        const Index<2> from{origin[0] + first_row + half * 64, origin[1]};
                        gpu::emit_tile<WarpgroupSums<Columns>, 8, true>(sums[half], sink, from, Index<2>{shape.M, end},
                                                                        shape.lanes);
                      }
                    });
  }

 private:
  KGEN_FN static void add_stages(Pipeline& pipeline, float (&sums)[halves][1][Columns / 2], int first,
                                 const WarpgroupMatmulShape<1>& shape) {
    {
      typename Pipeline::Reading held;  // what products that are under way still read
      for (int k = 0; k < shape.steps(depth); ++k) {
        auto stage = pipeline.read();
        wgmma_fence();
        KGEN_UNROLL
        for (int half = 0; half < halves; ++half) {
          WarpgroupProduct<T, Columns, BDeep>::multiply(sums[half][0], stage->a + first + half * 64 * depth, stage->b,
                                                        k > 0);
        }
        wgmma_commit();
        wgmma_wait<1>();
        held = std::move(stage);
      }
      wgmma_wait<0>();
    }
    KGEN_UNROLL
    for (int half = 0; half < halves; ++half) settle(sums[half][0]);
  }
};

template <class T, int Columns, bool BDeep, class Loads, class C>
KGEN_GLOBAL((has_warpgroups ? TallMatmul<T, Columns, BDeep, Loads>::threads : 1), 1)
tall_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, const KGEN_GRID_CONSTANT RowsAhead ahead, C c,
                   WarpgroupMatmulShape<1> shape) {
  if constexpr (has_warpgroups) {
    using Matmul = TallMatmul<T, Columns, BDeep, Loads>;
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, loads.bytes());
    take_turn();
    if (thread_index() < Matmul::loading_threads) {
      hold_registers<Matmul::loading_registers, RegisterShare::less>();
      if (thread_index() == 0) Matmul::load(pipeline, loads, ahead, c, shape);
    } else {
      hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
      Matmul::multiply(pipeline, c, shape);
    }
  }
}

template <class T, int Columns, bool BDeep, class Loads, class C, class Make>
bool launch_tall_matmul(const C& c, const WarpgroupMatmulShape<1>& shape, const DeviceLimits& limits, Stream stream,
                        const Make& make) {
  return launch_tiles<TallMatmul<T, Columns, BDeep, Loads>, Columns>(tall_matmul_kernel<T, Columns, BDeep, Loads, C>, c,
                                                                     shape, limits, stream, make);
}

}  // namespace kgen::gpu

#endif
