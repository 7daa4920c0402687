// Matrix multiplication of few rows on the tensor cores of Hopper, at the speed at which the right operands come from
// memory. The parts are warpgroup_matmul.hpp's, with these differences: the columns of the right operands are the rows
// of what is multiplied, so that a tile of 64 of them goes with as few as 8 rows of the left one; the depth of a tile
// is shared by the blocks of a cluster, as many as keep all multiprocessors' loads on their way; and the sums meet in
// shared memory (cluster_sums.hpp), from which the sink gets 4 neighbours of a row at a time.
#pragma once

#include "kgen/gpu/cluster_sums.hpp"
#include "kgen/gpu/row_state.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Blocks: of a multiprocessor.
template <class T, int Rows, int Blocks, bool BDeep>
struct SkinnyMatmul {
  static constexpr int rows = Rows, columns = 128, blocks = Blocks;
  using Tiles = OperandTiles<T, columns, Rows>;
  using Sums = ClusterSums<Rows, columns>;
  static constexpr int depth = Tiles::depth, step = 32 / static_cast<int>(sizeof(T));
  static constexpr std::int64_t available = 226 * 1024 / Blocks;
  static constexpr int stages = static_cast<int>((available - Sums::shared() - 1024) / shared_bytes<Tiles>(1));
  using Pipeline = TilePipeline<Tiles, stages, 1>;
  static constexpr std::int64_t shared() { return Pipeline::shared() + Sums::shared(); }
  // Two warpgroups multiply, 64 columns each; one thread of the wave behind them loads.
  static constexpr int multiplying_threads = 2 * warpgroup_threads;
  static constexpr int loading_end = multiplying_threads + wave_size;
  // Where sinks use numbers of rows, waves of their own make these: those that multiply would begin later.
  template <class C>
  static constexpr int threads = loading_end + RowStates<C, Rows>::waves* wave_size;

  // A warpgroup: the sums of its columns over this block's depth.
  KGEN_FN static void multiply(Pipeline& pipeline, const Sums& partial, ClusterDepth part) {
    const int first_column = thread_index() / warpgroup_threads * 64;
    float sums[Rows / 2];
    {
      typename Pipeline::Reading held;  // what products that are under way still read
      for (int i = part.first; i < part.last; ++i) {
        auto stage = pipeline.read();
        wgmma_fence();
        KGEN_UNROLL
        for (int k = 0; k < depth; k += step) {
          wgmma<T, Rows, false, !BDeep>(sums, boxed_operand<T, 64, BDeep>(stage->b + first_column * depth, k),
                                        boxed_operand<T, Rows, true>(stage->a, k), i > part.first || k > 0);
        }
        wgmma_commit();
        wgmma_wait<1>();
        held = std::move(stage);
      }
      wgmma_wait<0>();
    }
    settle(sums);
    partial.put(sums, first_column);
  }

  // The sums of no depth at all.
  KGEN_FN static void put_zeros(const Sums& partial) {
    const float zeros[Rows / 2] = {};
    partial.put(zeros, thread_index() / warpgroup_threads * 64);
  }

  using Results = ClusterResults<columns, multiplying_threads>;
};

template <class Matmul, class Loads, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::template threads<C> : 1), Matmul::blocks)
skinny_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, C c, WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, loads.bytes());
    const typename Matmul::Sums partial(shared);
    const RowStates<C, Matmul::rows> states(shared);
    const ClusterDepth part(shape.steps(Matmul::depth), shape.blocks);
    take_turn();
    const auto compute = [&]<int First, int Count>(const auto& given, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      const typename Matmul::Results::template Share<Count> share(shape);
      {
        const ClusterPhase multiplying;
        if (thread_index() < Matmul::multiplying_threads) {
          Matmul::multiply(pipeline, partial, part);
        } else if (thread_index() == Matmul::multiplying_threads) {
          auto tile = loads.template tile<First, Count>(0, static_cast<int>(origin[1]), part.first * Matmul::depth);
          for (int i = part.first; i < part.last; ++i) tile.load(pipeline.fill());
        } else if (thread_index() >= Matmul::loading_end) {
          states.make(given, share.first_row(), share.end_row(), (thread_index() - Matmul::loading_end) / wave_size);
        }
      }
      const ClusterStay adding;
      if (thread_index() >= Matmul::multiplying_threads) return;
      const auto& sink = states.known(given, share.first_row());
      Matmul::Results::template emit_tile<Count>(partial, sink, static_cast<int>(origin[1]), static_cast<int>(end), shape);
    };
    at_tile<Matmul::columns>(static_cast<int>(block_index()) / shape.blocks, c, shape, compute);
  }
}

// How many blocks should share the depth of each of so many tiles. On an H200 the loads of about 100 blocks fill its
// memory's bandwidth. Clusters of 3 and more do not find room on all multiprocessors: what would need all of them runs
// in two waves.
inline int blocks_of_depth(int tiles, int steps, const DeviceLimits& limits) {
  int blocks = 1;
  for (int more = 2; more <= limits.cluster_blocks && steps >= 2 * more; ++more) {
    const int room = more == 2 ? limits.multiprocessors : limits.multiprocessors * 3 / 4;
    if (tiles * more <= room) blocks = more;
  }
  return blocks;
}

template <class Matmul, class T, bool BDeep, class A, class B, class C>
bool launch_skinny_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                          const DeviceLimits& limits, Stream stream) {
  using Loads = EngineTiles<typename Matmul::Tiles, BDeep, several_count<B>>;
  const auto kernel = skinny_matmul_kernel<Matmul, Loads, several_count<B>, C>;
  constexpr int threads = Matmul::template threads<C>;
  constexpr std::int64_t shared_bytes = Matmul::shared() + RowStates<C, Matmul::rows>::shared();
  if (limits.shared_bytes < shared_bytes) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), threads)) return false;
  const int rows = static_cast<int>((shape.M + 7) / 8 * 8);
  const auto loads = engine_tiles<T, typename Matmul::Tiles, BDeep>(a, b, c, rows);
  if (!loads) return false;
  const Grid grid{"skinny_matmul", std::int64_t{shape.tiles} * shape.blocks, threads, shared_bytes, shape.blocks};
  launch_early(grid, stream, kernel, *loads, with_each(c, [](const auto& sink) { return with_access(sink, 8); }),
               shape);
  return true;
}

// The same of 17 to 128 rows, where the tiles are known.
template <class T, bool BDeep, class A, class B, class C>
bool skinny_matmul_of_more(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                           const DeviceLimits& limits, Stream stream) {
  using Deep = SkinnyMatmul<T, 64, 1, BDeep>;  // of more stages
  using Wide = SkinnyMatmul<T, 64, 2, BDeep>;  // for more tiles than multiprocessors
  using Widest = SkinnyMatmul<T, 128, 1, BDeep>;
  // Tiles of 128 rows that fill the multiprocessors need nobody to share their depth.
  if (shape.M > 64 && shape.tiles * 4 > limits.multiprocessors * 3) return false;
  if (shape.M > 64) return launch_skinny_matmul<Widest, T, BDeep>(a, b, c, shape, limits, stream);
  if (shape.tiles <= limits.multiprocessors)
    return launch_skinny_matmul<Deep, T, BDeep>(a, b, c, shape, limits, stream);
  return launch_skinny_matmul<Wide, T, BDeep>(a, b, c, shape, limits, stream);
}

// Whether each tile should go over the rows itself for the numbers that its sink uses: they come from a cache, while
// right operands come from memory. On an H200 16 rows of 4096 took 0.3 us of 16 for 6144 columns, where a launch ahead
// took 0.9, and as much of 58 for 28672; 64 rows took 11 us.
template <class C, class Shape>
bool pays_making_row_states(const C& c, const Shape& shape) {
  return shape.M * bytes_of_row(c) * shape.tiles <= std::int64_t{36} << 20;
}

// c = a * b for each of b, where a has few rows: false where it has not, or where device, compiler or where operands
// lie do not allow it.
template <class T, bool BDeep, class A, class B, class C>
bool skinny_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                   const DeviceLimits& limits, Stream stream) {
  using Few = SkinnyMatmul<T, 16, 2, BDeep>;
  if (shape.M > 128) return false;
  for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto&) {
    shape.tiles += shape.template order<Few::columns>(First, Count).columns;
  });
  shape.blocks = blocks_of_depth(shape.tiles, shape.steps(Few::depth), limits);
  if constexpr (uses_rows<C>) {
    return shape.M <= 16 && pays_making_row_states(c, shape) &&
           launch_skinny_matmul<Few, T, BDeep>(a, b, c, shape, limits, stream);
  } else {
    if (shape.M <= 16) return launch_skinny_matmul<Few, T, BDeep>(a, b, c, shape, limits, stream);
    return skinny_matmul_of_more<T, BDeep>(a, b, c, shape, limits, stream);
  }
}

}  // namespace kgen::gpu

#endif
