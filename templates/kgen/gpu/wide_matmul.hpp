// Matrix multiplication of results that are few wide tiles on the tensor cores of Hopper: skinny_matmul.hpp's kernel
// with a warpgroup for each 64 rows of a tile, one block to a multiprocessor. The blocks of a cluster may share the
// depth. Their sums meet in shared memory as the threads have them, and go from registers to the sink, as do those that
// no blocks share.
#pragma once

#include "kgen/gpu/skinny_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What the blocks of a cluster have each of a tile's sums, in parts of 64 rows and 32 columns, of which each thread of
// a warpgroup has 16: they lie so that neighbouring threads write and read neighbouring pieces of 16 bytes.
template <int Warpgroups, int Columns>
class ThreadSums {
  static constexpr int part_columns = 32, of_thread = 16, lanes = 4, pieces = of_thread / lanes;
  static constexpr int all = Warpgroups * 64 * Columns;

 public:
  static constexpr int across = Columns / part_columns, parts = Warpgroups * across;
  using Layout = WarpgroupSums<part_columns>;
  using Part = float[1][of_thread];
  static constexpr std::int64_t shared() { return shared_bytes<float>(all); }

  KGEN_FN explicit ThreadSums(SharedMemory& memory) : sums_(memory.take<float>(all)) {}

  // A warpgroup: its rows' sums.
  KGEN_FN void put(const float (&sums)[Columns / 2]) const {
    const int first = thread_index() / warpgroup_threads * across;
    KGEN_UNROLL
    for (int piece = 0; piece < across * pieces; ++piece) {
      Block<16> block;
      memcpy(&block, sums + piece * lanes, sizeof(block));
      store_shared(sums_ + place(first, piece), block);
    }
  }
  // A warpgroup: the sums of a part, added up over `blocks`. Each block begins with its own, and goes on to the next
  // one's: all at once they would wait for one block's memory.
  KGEN_FN void add(Part& sums, int part, int blocks) const {
    const int rank = cluster_rank();
    KGEN_UNROLL
    for (float& sum : sums[0]) sum = 0;
    KGEN_NO_UNROLL
    for (int i = rank; i < rank + blocks; ++i) {
      Part own;
      load(own, cluster_shared(sums_, i < blocks ? i : i - blocks), part);
      KGEN_UNROLL
      for (int each = 0; each < of_thread; ++each) sums[0][each] += own[0][each];
    }
  }
  // The same of a part that this thread has put there itself.
  KGEN_FN void take(Part& sums, int part) const { load(sums, sums_, part); }

 private:
  KGEN_FN static int place(int part, int piece) {
    return ((part * pieces + piece) * warpgroup_threads + thread_index() % warpgroup_threads) * lanes;
  }
  KGEN_FN static void load(Part& sums, const float* from, int part) {
    Block<16> loaded[pieces];
    KGEN_UNROLL
    for (int piece = 0; piece < pieces; ++piece) loaded[piece] = load_block<16>(from + place(part, piece), Access{});
    memcpy(sums, loaded, sizeof(loaded));
  }

  float* sums_;
};

template <class T, int Rows, int Columns, bool BDeep>
struct WideMatmul {
  static constexpr const char* name = "wide_matmul";
  static constexpr DepthTimes times = Rows == 64      ? DepthTimes{1900, 1800, 238, 780, 950}
                                      : Columns == 128 ? DepthTimes{3250, 4200, 525, 1960, 700}
                                                       : DepthTimes{4150, 4200, 665, 1950, 600};  // of an H100
  static constexpr int rows = Rows, columns = Columns, blocks = 1, warpgroups = Rows / 64;
  static constexpr bool emits_alone = true, keeps_sums = false;
  using Tiles = OperandTiles<T, columns, rows>;
  using Sums = ThreadSums<warpgroups, columns>;
  using OwnSums = float[1][columns / 2];
  static constexpr int depth = Tiles::depth;
  static constexpr int stages = static_cast<int>(225 * 1024 / shared_bytes<Tiles>(1));
  using Pipeline = TilePipeline<Tiles, stages, 1>;
  // The sums take the place of stages that nobody reads any more.
  static constexpr std::int64_t shared() { return Pipeline::shared(); }
  static_assert(Sums::shared() <= stages * shared_bytes<Tiles>(1));
  static constexpr int multiplying_threads = warpgroups * warpgroup_threads, threads = multiplying_threads + wave_size;

  // The first of a warpgroup's rows.
  KGEN_FN static int first_row() { return thread_index() / warpgroup_threads * 64; }

  // A warpgroup: the sums of its rows over this block's depth.
  KGEN_FN static void multiply(Pipeline& pipeline, OwnSums& sums, ClusterDepth part) {
    const int first = first_row() * depth;
    {
      typename Pipeline::Reading held;  // what products that are under way still read
      for (int i = part.first; i < part.last; ++i) {
        auto stage = pipeline.read();
        wgmma_fence();
        WarpgroupProduct<T, columns, BDeep>::multiply(sums[0], stage->a + first, stage->b, i > part.first);
        wgmma_commit();
        wgmma_wait<1>();
        held = std::move(stage);
      }
      wgmma_wait<0>();
    }
    settle(sums[0]);
  }
  KGEN_FN static void put(const Sums& to, const OwnSums& sums) { to.put(sums[0]); }
  template <class C, class Shape>
  KGEN_FN static void emit_tile(const OwnSums& sums, const C& sink, Index<2> origin, std::int64_t end,
                                const Shape& shape) {
    const Index<2> extents{shape.row_end(origin[0]), end};
    if constexpr (warpgroups > 1 && view_count<C> > 1) {  // no register is left for what the sink reads
      SharedMemory memory;
      const Sums own(memory);
      own.put(sums[0]);
      const int first = first_row() / 64 * Sums::across;
      const auto take = [&](auto& part, int number) KGEN_LAMBDA { own.take(part, number); };
      emit_parts(take, first, first + Sums::across, 1, sink, origin, extents, shape);
    } else {
      origin[0] += first_row();
      gpu::emit_tile<WarpgroupSums<columns>, 4, true>(sums, sink, origin, extents, shape.lanes);
    }
  }

  // A warpgroup: some of a tile's parts, `step` apart, to the sink. take(part, number): the sums of one.
  template <class Take, class C, class Shape>
  KGEN_FN static void emit_parts(const Take& take, int first, int last, int step, const C& sink, Index<2> origin,
                                 Index<2> extents, const Shape& shape) {
    KGEN_NO_UNROLL
    for (int part = first; part < last; part += step) {
      const int row = part / Sums::across * 64, column = part % Sums::across * Sums::Layout::columns;
      const Index<2> at{origin[0] + row, origin[1] + column};
      if (at[0] >= extents[0] || at[1] >= extents[1]) continue;
      typename Sums::Part sums;
      take(sums, part);
      gpu::emit_tile<typename Sums::Layout, 2, true>(sums, sink, at, extents, shape.lanes);
    }
  }

  // How the warpgroups of a cluster's blocks give the parts of a tile to the sink, in turn.
  struct Results {
    template <int Count, class C, class Shape>
    KGEN_FN static void emit_tile(const Sums& partial, const C& sink, Index<2> origin, std::int64_t end,
                                  const Shape& shape) {
      const int team = cluster_rank() * warpgroups + thread_index() / warpgroup_threads;
      const auto add = [&](auto& part, int number) KGEN_LAMBDA { partial.add(part, number, shape.blocks); };
      emit_parts(add, team, Sums::parts, shape.blocks * warpgroups, sink, origin,
                 Index<2>{shape.row_end(origin[0]), end}, shape);
    }
  };
};

}  // namespace kgen::gpu

#endif
