// Matrix multiplication of results that are few tiles on the tensor cores of Hopper: skinny_matmul.hpp's kernel with
// tiles of 64 rows and 64 columns, by one warpgroup, two blocks to a multiprocessor. Operands come to a multiprocessor
// at a rate of its own, so that what larger tiles bring to few takes longer than what these bring to many. Sums of
// tiles whose depth no blocks share go from registers to the sink.
#pragma once

#include "kgen/gpu/skinny_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

template <class T, bool BDeep>
struct SquareMatmul {
  static constexpr const char* name = "square_matmul";
  static constexpr DepthTimes times{1280, 1600, 145, 760, 650};  // of an H100
  static constexpr int rows = 64, columns = 64, blocks = 2;
  static constexpr bool emits_alone = true, keeps_sums = false;
  using Tiles = OperandTiles<T, columns, rows>;
  using Sums = ClusterSums<rows, columns>;
  using OwnSums = float[1][columns / 2];
  using Part = WarpgroupSums<columns>;
  static constexpr int depth = Tiles::depth, stages = 7;
  using Pipeline = TilePipeline<Tiles, stages, 1>;
  // The sums take the place of stages that nobody reads any more.
  static constexpr std::int64_t shared() { return Pipeline::shared(); }
  static_assert(Sums::shared() <= stages * shared_bytes<Tiles>(1));
  static constexpr int multiplying_threads = warpgroup_threads, threads = multiplying_threads + wave_size;
  using Results = ClusterResults<columns, multiplying_threads>;

  // The sums of this block's depth.
  KGEN_FN static void multiply(Pipeline& pipeline, OwnSums& sums, ClusterDepth part) {
    {
      typename Pipeline::Reading held;  // what products that are under way still read
      for (int i = part.first; i < part.last; ++i) {
        auto stage = pipeline.read();
        wgmma_fence();
        WarpgroupProduct<T, columns, BDeep>::multiply(sums[0], stage->a, stage->b, i > part.first);
        wgmma_commit();
        wgmma_wait<1>();
        held = std::move(stage);
      }
      wgmma_wait<0>();
    }
    settle(sums[0]);
  }
  KGEN_FN static void put(const Sums& to, const OwnSums& sums) { put_in_steps<Part>(to, sums[0], {0, 0}); }
  template <class C, class Shape>
  KGEN_FN static void emit_tile(const OwnSums& sums, const C& sink, Index<2> origin, std::int64_t end,
                                const Shape& shape) {
    gpu::emit_tile<Part, 4, true>(sums, sink, origin, Index<2>{shape.row_end(origin[0]), end}, shape.lanes);
  }
};

}  // namespace kgen::gpu

#endif
