// Matrix multiplication of few rows on the tensor cores of Hopper, at the speed at which the right operands come from
// memory, and of results that are few tiles for their depth. The parts are warpgroup_matmul.hpp's, with these
// differences: the columns of the right operands are the rows of what is multiplied, so that a tile of 64 of them goes
// with as few as 8 rows of the left one; the depth of a tile is shared by the blocks of a cluster, as many as keep all
// multiprocessors' loads on their way; and the sums meet in shared memory (cluster_sums.hpp, sent_sums.hpp), from which
// the sink gets 4 neighbours of a row at a time.
#pragma once

#include <limits>

#include "kgen/gpu/sent_sums.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// How many blocks share the depth of each of a call's tiles, in how many rounds, and what that takes on an H100, in ns.
struct SharedDepth {
  int tiles, blocks, rounds;
  std::int64_t time;
};

// What such blocks take on an H100, in ns: to begin, and again for each further round; each step of the depth, the end
// of a tile, and more of it where blocks share the depth.
struct DepthTimes {
  std::int64_t launch, again, stage, end, meets = 0;

  // The best way to share so many steps, which memory brings in `memory` ns, and the second-level cache as so many
  // bytes. Those blocks that do not run at once go in rounds, and blocks that meet have to wait for each other.
  // Clusters of 5 and 7 blocks were slower than of 4 and 6. most: of all blocks, where more than two share a tile's
  // depth; 0: any.
  SharedDepth best(int tiles, int steps, double memory, double bytes, const ClustersAtOnce& room,
                   const DeviceLimits& limits, int most = 0) const {
    constexpr double bytes_of_ns = 7000, alone_bytes_of_ns = 9500;  // alone: of blocks that share no multiprocessor
    SharedDepth best{tiles, 0, 0, 0};
    for (const int blocks : {1, 2, 3, 4, 6, 8}) {
      if (blocks > 1 && (blocks > limits.cluster_blocks || steps < 2 * blocks || room[blocks] == 0)) continue;
      if (blocks > 2 && most > 0 && tiles * blocks > most) continue;
      const int at_once = std::max(room[blocks], 1), rounds = (tiles + at_once - 1) / at_once;
      const bool share = rounds == 1 && tiles * blocks > limits.multiprocessors;  // two blocks a multiprocessor
      const std::int64_t meeting = (blocks == 1 ? 0 : meets + 100 + 120 * blocks) + (share ? end / 2 : 0);
      const std::int64_t multiplies = rounds * ((steps + blocks - 1) / blocks * stage);
      const bool alone = blocks == 1 && tiles <= limits.multiprocessors;
      const auto cache = static_cast<std::int64_t>(bytes / (alone ? alone_bytes_of_ns : bytes_of_ns));
      const std::int64_t time =
          launch + (rounds - 1) * again + rounds * (end + meeting) + time_together(std::max(multiplies, cache), memory);
      if (blocks == 1 || time < best.time) best = {tiles, blocks, rounds, time};
    }
    return best;
  }
};

// Blocks: of a multiprocessor.
template <class T, int Rows, int Blocks, bool BDeep>
struct SkinnyMatmul {
  static constexpr const char* name = "skinny_matmul";
  static constexpr DepthTimes times = Rows == 16   ? DepthTimes{2750, 2000, 200, 220, 250}
                                      : Rows == 64 ? DepthTimes{2850, 2000, 218, 1380, 0}
                                                   : DepthTimes{2850, 2000, 328, 2460, 550};
  static constexpr int rows = Rows, columns = 128, blocks = Blocks;
  using Tiles = OperandTiles<T, columns, Rows>;
  using Sums = ClusterSums<Rows, columns, 1, wgmma_sum_t<T>>;
  using OwnSums = wgmma_sum_t<T>[Rows / 2];
  static constexpr bool emits_alone = false;  // sums of tiles that no blocks share go the same way
  // Blocks of few rows have room for their sums beside the ring, which fills meanwhile with what comes next.
  static constexpr bool keeps_sums = Rows == 16 && Blocks == 2;
  using Kept = SentSums<Rows, columns, wgmma_sum_t<T>>;
  static constexpr int depth = Tiles::depth, step = 32 / static_cast<int>(sizeof(T));
  static constexpr std::int64_t available = 226 * 1024 / Blocks;
  static constexpr std::int64_t kept = keeps_sums ? Kept::shared() + NamedBarriers<1>::shared() : 0;
  static constexpr int stages = static_cast<int>((available - 1024 - kept) / shared_bytes<Tiles>(1));
  using Pipeline = TilePipeline<Tiles, stages, 1>;
  // Others take the place of stages that nobody reads any more.
  static constexpr std::int64_t shared() { return Pipeline::shared() + kept; }
  static_assert(Sums::shared() <= stages * shared_bytes<Tiles>(1));
  // Two warpgroups multiply, 64 columns each; one thread of the wave behind them loads.
  static constexpr int multiplying_threads = 2 * warpgroup_threads;
  static constexpr int threads = multiplying_threads + wave_size;

  // The first of a warpgroup's columns.
  KGEN_FN static int first_column() { return thread_index() / warpgroup_threads * 64; }

  // A warpgroup: puts the sums of its columns where they are added up.
  KGEN_FN static void put(const Sums& to, const OwnSums& sums) { to.put(sums, first_column()); }

  // A warpgroup: the sums of its columns over this block's depth. With `allows` the kernel behind finds places once all
  // of that is read or, where blocks share no depth, asked for.
  KGEN_FN static void multiply(Pipeline& pipeline, OwnSums& sums, ClusterDepth part, bool allows = false,
                               bool alone = false) {
    if constexpr (sums_are_short<T>) {
      add_stages(pipeline, sums, part);
    } else {
      const int asked = allows && alone ? part.last - stages : part.last;
      {
        typename Pipeline::Reading held;  // what products that are under way still read
        for (int i = part.first; i < part.last; ++i) {
          auto stage = pipeline.read();
          if (i == asked && thread_index() == 0) allow_next();
          wgmma_fence();
          multiply_stage(sums, *stage, i > part.first);
          wgmma_commit();
          wgmma_wait<1>();
          held = std::move(stage);
        }
        wgmma_wait<0>();
      }
      settle(sums);
    }
    if (allows && thread_index() == 0) allow_next();
  }

  // Begins sums += the product of a stage, or without `adds` sums = that.
  KGEN_FN static void multiply_stage(wgmma_sum_t<T> (&sums)[Rows / 2], const Tiles& stage, bool adds) {
    KGEN_UNROLL
    for (int k = 0; k < depth; k += step) {
      wgmma<exchanged_t<T>, Rows, false, !BDeep>(sums, boxed_operand<T, 64, BDeep>(stage.b + first_column() * depth, k),
                                                 boxed_operand<T, Rows, true>(stage.a, k), adds || k > 0);
    }
  }
  // multiply() of which the tensor cores add up two stages, and no more.
  KGEN_FN static void add_stages(Pipeline& pipeline, float (&sums)[Rows / 2], ClusterDepth part) {
    KGEN_UNROLL
    for (float& sum : sums) sum = 0;
    const auto add = [&](const auto&... held) KGEN_LAMBDA {
      float both[Rows / 2];
      bool adds = false;
      wgmma_fence();
      ((multiply_stage(both, *held, adds), adds = true), ...);
      wgmma_commit();
      wgmma_wait<0>();
      settle(both);
      KGEN_UNROLL
      for (int i = 0; i < Rows / 2; ++i) sums[i] += both[i];
    };
    int i = part.first;
    for (; i + 1 < part.last; i += 2) {
      const auto one = pipeline.read(), other = pipeline.read();
      add(one, other);
    }
    if (i < part.last) add(pipeline.read());
  }

  using Results = ClusterResults<columns, multiplying_threads>;
};

// One thread: fills stage after stage with a part of the depth. `ahead`: what nothing writes, the right operands, comes
// to some of the ring before the kernel ahead is done. More of it would keep the last of that one's loads waiting. No
// other lane of the wave may wait for that kernel meanwhile: this one would wait with it.
template <class Pipeline, class Tile>
KGEN_FN void load_part(Pipeline& pipeline, Tile tile, ClusterDepth part, bool ahead) {
  int step = part.first;
  if constexpr (requires { tile.advance(); }) {
    if (ahead) {
      constexpr int most = Pipeline::stages / 2;
      const int held = part.last - part.first < most ? part.last - part.first : most;
      Tile left = tile;
      for (int i = 0; i < held; ++i, tile.advance()) tile.load_right(pipeline.fill());
      take_turn();
      for (int i = 0; i < held; ++i, left.advance()) left.load_left(pipeline.filling(i));
      step += held;
    }
  } else if (ahead) {
    take_turn();
  }
  for (; step < part.last; ++step) tile.load(pipeline.fill());
}

// The sums of tiles that take the place of stages which nobody reads any more: blocks of a cluster meet around them.
template <class Matmul>
class SumsInRing {
 public:
  KGEN_FN SumsInRing(SharedMemory&, int) {}

  template <int Count>
  struct Tile {
    KGEN_FN explicit Tile(const SumsInRing&) {}
    KGEN_FN void begin(int) const {}
  };
  KGEN_FN void end() const {}
  // Those of a tile, by all threads of the block: emit(partial) gives the sink what is put there.
  template <int Count, class Emit>
  KGEN_FN void meet(const Tile<Count>&, const typename Matmul::OwnSums& sums, bool multiplies, const Emit& emit) {
    SharedMemory again;
    const typename Matmul::Sums partial(again);
    {
      const ClusterPhase sharing;
      if (multiplies) Matmul::put(partial, sums);
    }
    const ClusterStay adding;
    if (multiplies) emit(partial);
  }
};

// The same of tiles whose sums have room of their own: they are sent there, or put there by a block that no other
// shares its tiles with, and the ring fills meanwhile with what comes next.
template <class Matmul>
class SumsKept {
 public:
  KGEN_FN SumsKept(SharedMemory& memory, int blocks) : kept_(memory, blocks), multiplying_(memory), blocks_(blocks) {}

  template <int Count>
  struct Tile : Matmul::Kept::template Tile<Count> {
    KGEN_FN explicit Tile(const SumsKept& to) : Matmul::Kept::template Tile<Count>(to.kept_) {}
  };
  KGEN_FN void end() const { kept_.await_others(); }
  template <int Count, class Emit>
  KGEN_FN void meet(const Tile<Count>& tile, const typename Matmul::OwnSums& sums, bool multiplies, const Emit& emit) {
    if (!multiplies) return;
    tile.put(sums, Matmul::first_column());
    await_each_other();
    tile.await();
    emit(tile);
    await_each_other();
  }

 private:
  // Threads that multiply, where no other block shares their tiles.
  KGEN_FN void await_each_other() {
    if (blocks_ > 1) return;
    multiplying_.wait(0);  // by a number that the compiler knows: else it takes all 16 of a block
  }

  typename Matmul::Kept kept_;
  NamedBarriers<1> multiplying_;
  int blocks_;
};

// A block's tile is one of those whose depth a cluster shares, or one after the other, which no block shares. Weights
// that are loaded ahead leave the kernel behind room as soon as all of them are read, or asked for: its own weights
// come while sums meet here, and results are on their way.
template <class Matmul, class Loads, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
skinny_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, C c, WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, loads.bytes());
    using Meeting = std::conditional_t<Matmul::keeps_sums, SumsKept<Matmul>, SumsInRing<Matmul>>;
    Meeting meeting(shared, shape.blocks);
    const ClusterDepth part(shape.steps(Matmul::depth), shape.blocks);
    const bool multiplies = wave_index() * wave_size < Matmul::multiplying_threads;
    bool waits = !shape.loads_ahead || multiplies;
    int number = static_cast<int>(block_index());
    if (shape.blocks > 1) number /= shape.blocks;
    bool ahead = shape.loads_ahead;
    const auto multiply = [&](typename Matmul::OwnSums& sums) KGEN_LAMBDA {
      if constexpr (Matmul::keeps_sums) {
        const bool is_last = number + shape.tiles_at_once >= shape.tiles;
        Matmul::multiply(pipeline, sums, part, shape.loads_ahead && is_last, shape.blocks == 1);
      } else {
        Matmul::multiply(pipeline, sums, part);
      }
    };
    const auto compute = [&]<int First, int Count>(const auto& given, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      typename Meeting::template Tile<Count> own(meeting);
      typename Matmul::OwnSums sums;
      // Where the first tile is has been worked out before the wait: what a launch says comes from far away.
      std::int32_t place[2] = {static_cast<int>(origin[0]), static_cast<int>(origin[1])};
      settle(place);
      if (waits) take_turn(shape.allows_next);
      waits = false;
      {
        const std::conditional_t<Matmul::keeps_sums, WavePhase, BlockPhase> working;
        if (multiplies) {
          const std::int64_t rows = shape.row_end(origin[0]) - origin[0];
          own.begin(rows < Matmul::rows ? static_cast<int>(rows) : Matmul::rows);
          multiply(sums);
        } else if (is_elected()) {
          auto tile = loads.template tile<First, Count>(place[0], place[1], part.first * Matmul::depth);
          load_part(pipeline, tile, part, ahead);
          ahead = false;
        }
      }
      if constexpr (Matmul::emits_alone) {
        if (shape.blocks == 1) {
          if (multiplies) Matmul::emit_tile(sums, given, origin, end, shape);
          return;
        }
      }
      meeting.meet(own, sums, multiplies, [&](const auto& partial) KGEN_LAMBDA {
        Matmul::Results::template emit_tile<Count>(partial, given, origin, end, shape);
      });
    };
    const auto at_part = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      if (shape.parts > 1) origin[1] += number % shape.parts * (Matmul::columns / Count);
      if (origin[1] < end) compute.template operator()<First, Count>(sink, origin, end);
    };
    do {
      const int whole = shape.parts > 1 ? number / shape.parts : number;
      at_tile<Matmul::rows>(shape.first_tile + whole, Matmul::columns * shape.parts, c, shape, at_part);
      number += shape.tiles_at_once;
    } while (Matmul::keeps_sums && number < shape.tiles);
    // Of the wave that loads only one lane has awaited it: others would have held that one back. And a block may have no
    // part of its tile.
    if (waits || (shape.loads_ahead && !multiplies)) take_turn();
    if (!multiplies) meeting.end();
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

// Where few blocks run, the kernel behind them finds places meanwhile: what that saves, in ns, which SharedDepth's time
// does not say. Where there is no room for both, it costs more than that.
inline constexpr std::int64_t begins_early = 700;

// SkinnyMatmul's kernel for one call. Loads: what brings tiles.
template <class Matmul, class Loads, int Products, class C>
struct SkinnyLaunch {
  static constexpr int products = Products, threads = Matmul::threads, columns = Matmul::columns;
  static constexpr std::int64_t shared_bytes = Matmul::shared();
  static constexpr auto* kernel = skinny_matmul_kernel<Matmul, Loads, Products, C>;

  const char* name;
  const C& c;
  WarpgroupMatmulShape<Products> shape;
  const DeviceLimits& limits;
  Stream stream;

  bool fits() const {
    return limits.shared_bytes >= shared_bytes && runs_warpgroups(reinterpret_cast<const void*>(kernel), threads);
  }
  int steps() const { return shape.steps(Matmul::depth); }
  Grid grid(int tiles, int blocks) const { return {name, std::int64_t{tiles} * blocks, threads, shared_bytes, blocks}; }

  SharedDepth best(double slower = 1) const {
    return best(shape.template count_tiles<Matmul::rows>(c, Matmul::columns), 1, slower);
  }
  // Of so many tiles, which are that share of the product. A stage takes as long as its bytes are on their way, or its
  // product takes, and all of them no less than the second-level cache for all tiles, or memory, `slower` than it could
  // be.
  SharedDepth best(int tiles, double share, double slower = 1) const {
    const double bytes = static_cast<double>(sizeof(typename Matmul::Tiles)) * tiles * steps();
    const double memory = slower * shape.memory_time(steps(), share);
    const ClustersAtOnce room = clusters_at_once(grid(1, 1), limits, stream, reinterpret_cast<const void*>(kernel));
    // Beside the blocks of the kernel ahead larger clusters wait for room, which much depth makes up for.
    constexpr double much = 25000, share_of_few = 0.6, share_of_many = 0.75;  // ns; of all multiprocessors
    const double most_of = !shape.loads_ahead ? 0 : memory < much ? share_of_few : share_of_many;
    const int most = static_cast<int>(most_of * limits.multiprocessors);
    return Matmul::times.best(tiles, steps(), memory, bytes, room, limits, most);
  }

  // So many blocks leave the kernel behind room: more are held up by those of it.
  int most_ahead() const { return limits.multiprocessors * 7 / 8; }
  // Where weights are loaded ahead, blocks stay for several tiles, unless they are too few then to keep memory busy: 75
  // took 4 % longer than 112.
  int tiles_at_once() const {
    if (!shape.loads_ahead || shape.blocks > 1 || shape.tiles <= most_ahead() || most_ahead() == 0) return shape.tiles;
    const int rounds = (shape.tiles + most_ahead() - 1) / most_ahead(), each = (shape.tiles + rounds - 1) / rounds;
    return 3 * each >= 2 * limits.multiprocessors ? each : shape.tiles;
  }

  // False where there are no loads, as operands do not lie as the copy engine takes them.
  bool operator()(const SharedDepth& shared, const std::optional<Loads>& loads) {
    if (!loads) return false;
    shape.tiles = shared.tiles;
    shape.blocks = shared.blocks;
    shape.tiles_at_once = Matmul::keeps_sums ? tiles_at_once() : shared.tiles;
    shape.loads_ahead = shape.loads_ahead && shape.tiles_at_once * shared.blocks <= most_ahead();
    shape.allows_next = !shape.loads_ahead && shape.first_tile == 0 &&
                        shared.tiles * shared.blocks * 2 <= limits.multiprocessors * Matmul::blocks;
    launch_early(grid(shape.tiles_at_once, shared.blocks), stream, kernel, *loads,
                 with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
    return true;
  }
};

// The same of products of two operands.
template <class Matmul, class T, bool BDeep, class A, class B, class C>
struct SkinnyProduct
    : SkinnyLaunch<Matmul, EngineTiles<typename Matmul::Tiles, BDeep, several_count<B>>, several_count<B>, C> {
  using Launch =
      SkinnyLaunch<Matmul, EngineTiles<typename Matmul::Tiles, BDeep, several_count<B>>, several_count<B>, C>;
  const A& a;
  const B& b;

  SkinnyProduct(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                const DeviceLimits& limits, Stream stream)
      : Launch{Matmul::name, c, shape, limits, stream}, a(a), b(b) {
    this->shape.loads_ahead = Matmul::keeps_sums && are_lasting(b);
  }

  bool operator()(const SharedDepth& shared) {
    const int rows = std::min(Matmul::rows, static_cast<int>((this->shape.M + 7) / 8 * 8));
    return Launch::operator()(shared, engine_tiles<T, typename Matmul::Tiles, BDeep>(a, b, this->c, rows));
  }
};

}  // namespace kgen::gpu

#endif
