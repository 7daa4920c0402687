// Matrix multiplication of operands of 16 bits whose lines begin where the copy engine does not take them, as they lie,
// where tiles of 64 rows and columns take less time than copying operands to other lines: of short depths and few
// tiles. Tiles come from where they lie (line_tiles.hpp), some ahead; each wave multiplies its part of them (WavePart);
// the blocks of a cluster share the depth of few tiles; and the sums meet in shared memory (cluster_sums.hpp).
#pragma once

#include <limits>

#include "kgen/gpu/few_rows_matmul.hpp"
#include "kgen/gpu/line_tiles.hpp"
#include "kgen/gpu/wave_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What brings one step's tiles, of the left operand and some of right ones, in place or on their way as `Stage` has
// them.
template <class Left, class Right, int Count>
struct StepLoads {
  static constexpr int depth = Left::Layout::depth;
  Left left;
  Right right[Count];

  template <class Stage>
  KGEN_FN void begin(Stage& stage, int step) const {
    left.begin(stage.a, step * depth);
    KGEN_UNROLL
    for (int i = 0; i < Count; ++i) right[i].begin(stage.b[i], step * depth);
  }
  template <class Tiles, class Stage>
  KGEN_FN void put(Tiles& tiles, const Stage& stage, int step) const {
    left.put(tiles.a, stage.a, step * depth);
    KGEN_UNROLL
    for (int i = 0; i < Count; ++i) right[i].put(tiles.b[i], stage.b[i], step * depth);
  }
};

// The tiles of a block's steps, some ahead of the one that is read. All threads call fill() for the first `ahead`
// steps, then in turn read() of a step and fill() of the one that is so far ahead of it.

// Tiles that come to their places, in a ring.
template <class Tiles>
class WordPipeline {
  static constexpr int most = 4;

 public:
  static constexpr int ahead = most - 1;
  KGEN_FN static std::int64_t shared(int steps) { return shared_bytes<Tiles>(steps < most ? steps : most); }

  KGEN_FN WordPipeline(SharedMemory& memory, int steps) : tiles_(memory.take<Tiles>(steps < most ? steps : most)) {}

  template <class Loads>
  KGEN_FN void fill(const Loads& loads, int step, int end) {
    if (step < end) loads.begin(tiles_[filled_++ % most], step);
    commit_copies();
  }
  template <class Loads>
  KGEN_FN const Tiles& read(const Loads&, int) {
    {
      const BlockPhase coming;
      await_copies<ahead - 1>();
    }
    return tiles_[read_++ % most];
  }

 private:
  Tiles* tiles_;
  unsigned filled_ = 0, read_ = 0;
};

// Tiles whose blocks come to a ring, of which each thread fills again what it has read; two are in place, one of them
// while the other is put there.
template <class Tiles, class Coming>
class LinePipeline {
  static constexpr int most = 4;

 public:
  static constexpr int ahead = most;
  KGEN_FN static std::int64_t shared(int steps) {
    return shared_bytes<Tiles>(2) + shared_bytes<Coming>(steps < most ? steps : most);
  }

  KGEN_FN LinePipeline(SharedMemory& memory, int steps)
      : tiles_(memory.take<Tiles>(2)), coming_(memory.take<Coming>(steps < most ? steps : most)) {}

  template <class Loads>
  KGEN_FN void fill(const Loads& loads, int step, int end) {
    if (step < end) loads.begin(coming_[filled_++ % most], step);
    commit_copies();
  }
  template <class Loads>
  KGEN_FN const Tiles& read(const Loads& loads, int step) {
    Tiles& own = tiles_[read_ % 2];
    {
      const BlockPhase putting;
      await_copies<ahead - 1>();
      wave_barrier();  // whose threads take from each other's blocks
      loads.put(own, coming_[read_ % most], step);
    }
    ++read_;
    return own;
  }

 private:
  Tiles* tiles_;
  Coming* coming_;
  unsigned filled_ = 0, read_ = 0;
};

// Words: of lines that begin at multiples of 4 bytes. Count: products of which a block computes the same tile. Threads:
// of a block, 256, of which the first loads and the end take less time, or 128, of which more blocks have room.
template <class Element, bool BDeep, bool Words, int Count, int Threads>
struct LineMatmul {
  using T = Element;
  using Op = DeviceTile<T>;
  static constexpr int count = Count, rows = 64, columns = 64 * Count, threads = Threads;
  static constexpr int blocks = !Words && Count == 2 ? 1 : Threads == 128 ? 3 : 2;  // of a multiprocessor
  template <bool Deep>
  using Operand = std::conditional_t<Words, WordTiles<T, Deep, threads>, LineTiles<T, Deep, threads>>;
  using Left = Operand<true>;
  using Right = Operand<BDeep>;
  static constexpr int depth = Left::Layout::depth;
  // What it takes on an H100, in ns, to begin and to end, more of that where blocks meet, a step, and more of it for
  // each further block of its multiprocessor.
  static constexpr bool is_thin = Threads == 128;
  static constexpr int begin_time = is_thin ? 2650 : Words ? 2450 : 2900, meeting_time = Words ? 700 : 1200;
  static constexpr int step_time = Count == 2 ? (Words ? 1225 : 1400) : is_thin ? 690 : Words ? 640 : 800;
  static constexpr int more_time = Count == 2 ? (Words ? 1240 : 1400) : is_thin ? 240 : Words ? 360 : 700;
  using Sums = ClusterSums<rows, columns>;
  using Results = ClusterResults<columns, threads>;
  using Part = WavePart<LineMatmul, Op, Count, BDeep>;
  using WaveSums = typename Part::Sums[Count];

  struct alignas(128) Tiles {
    T a[Left::Layout::elements], b[Count][Right::Layout::elements];
  };
  struct Coming {
    typename LineTiles<T, true, threads>::Blocks a;
    typename LineTiles<T, BDeep, threads>::Blocks b[Count];
  };
  using Pipeline = std::conditional_t<Words, WordPipeline<Tiles>, LinePipeline<Tiles, Coming>>;
  // Of a block that has so many steps: sums take the place of tiles.
  static std::int64_t shared(int steps) { return std::max(Pipeline::shared(steps), Sums::shared()); }

  // What brings the tiles at `origin` of the products from number First on.
  template <int First, class Operands, int... I>
  KGEN_FN static auto loads(const Operands& operands, Index<2> origin, std::integer_sequence<int, I...>) {
    return StepLoads<Left, Right, Count>{Left(operands.a, origin[0]), {Right(operands.b[First + I], origin[1])...}};
  }

  // sums += the product over a part of the depth, of a tile that has so many rows: a wave that has none only loads.
  template <class Loads>
  KGEN_FN static void multiply(Pipeline& pipeline, WaveSums& sums, const Loads& loads, ClusterDepth part,
                               int rows_there) {
    const bool has_rows = Part::row() < rows_there;
    KGEN_NO_UNROLL
    for (int step = part.first - Pipeline::ahead; step < part.last; ++step) {
      const Tiles* own = step >= part.first ? &pipeline.read(loads, step) : nullptr;
      pipeline.fill(loads, step + Pipeline::ahead, part.last);
      if (own == nullptr || !has_rows) continue;
      KGEN_UNROLL
      for (int i = 0; i < Count; ++i) {
        Part::template multiply<typename Left::Layout, typename Right::Layout>(sums[i], own->a, own->b[i]);
      }
    }
  }

  // Puts a wave's sums where they are added up.
  KGEN_FN static void put(const Sums& to, const WaveSums& sums) {
    KGEN_UNROLL
    for (int i = 0; i < Count; ++i) put_in_steps<Part>(to, sums[i], {Part::row(), i * 64 + Part::column()});
  }
};

template <class Matmul, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
line_matmul_kernel(const KGEN_GRID_CONSTANT FewRowsOperands<typename Matmul::T, Products> operands, C c,
                   WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    const ClusterDepth part(shape.steps(Matmul::depth), shape.blocks);
    SharedMemory shared, again;
    typename Matmul::Pipeline pipeline(shared, part.last - part.first);
    const typename Matmul::Sums partial(again);
    take_turn(shape.allows_next);
    const auto compute = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      static_assert(Count == Matmul::count);
      constexpr std::make_integer_sequence<int, Matmul::count> tiles;
      typename Matmul::WaveSums sums = {};
      {
        const BlockPhase multiplying;
        const auto loads = Matmul::template loads<First>(operands, origin, tiles);
        Matmul::multiply(pipeline, sums, loads, part, static_cast<int>(shape.M - origin[0]));
      }
      if (shape.blocks == 1) {
        origin[0] += Matmul::Part::row();
        origin[1] += Matmul::Part::column();
        const Index<2> extents{shape.M, end};
        return emit_tile<typename Matmul::Part, 4, Count == Products>(sums, sink, origin, extents, shape.lanes);
      }
      {
        const ClusterPhase sharing;
        Matmul::put(partial, sums);
      }
      const ClusterStay adding;
      Matmul::Results::template emit_tile<Count>(partial, sink, origin, end, shape);
    };
    at_tile<Matmul::rows>(static_cast<int>(block_index()) / shape.blocks, Matmul::columns, c, shape, compute);
  }
}

// ---- launches

// Whether there is such a kernel for these operands and sinks, of which all take as many products.
template <class T, class A, class B, class C>
inline constexpr bool has_line_matmul = sizeof(T) == 2 && has_small_tiles<T, A, B, C> &&
                                        (most_together<C, several_count<B>> == 1 ||
                                         most_together<C, several_count<B>> == several_count<B>);

// Whether all lines of both operands begin at multiples of 4 bytes.
template <class T, bool BDeep, class A, class B>
bool has_words(const A& a, const B& b) {
  bool all = word_of_lines(CopiedMatrix<T>(a, false)) >= 4;
  for_each_of(b, [&](const auto& each) { all = all && word_of_lines(CopiedMatrix<T>(each, BDeep)) >= 4; });
  return all;
}

// One call of LineMatmul's kernel.
template <class T, bool BDeep, bool Words, int Threads, class A, class B, class C>
struct LineLaunch {
  static constexpr int products = several_count<B>;
  using Matmul = LineMatmul<T, BDeep, Words, most_together<C, products>, Threads>;
  static constexpr auto* kernel = line_matmul_kernel<Matmul, products, C>;

  const A& a;
  const B& b;
  const C& c;
  WarpgroupMatmulShape<products> shape;
  const DeviceLimits& limits;
  Stream stream;

  bool fits() const {
#if defined(KGEN_SIMT)
    if (!simt::device().small_tiles) return false;
#endif
    bool lines = is_of_lines<T, 2>(a, false);
    for_each_of(b, [&](const auto& each) { lines = lines && is_of_lines<T, 2>(each, BDeep); });
    return lines && limits.shared_bytes >= Matmul::shared(steps()) &&
           runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
  }
  int steps() const { return shape.steps(Matmul::depth); }
  Grid grid(int tiles, int blocks) const {
    const int each = (steps() + blocks - 1) / blocks;
    return {"line_matmul", std::int64_t{tiles} * blocks, Matmul::threads, Matmul::shared(each), blocks};
  }
  // The best way to share the depth, of those whose blocks all run at once, or not to (tests/bench/MATMUL.md).
  SharedDepth best() const {
    constexpr int again = 3000, meets_each = 120;
    const int tiles = shape.template count_tiles<Matmul::rows>(c, Matmul::columns);
    const ClustersAtOnce room = clusters_at_once(grid(1, 1), limits, stream, reinterpret_cast<const void*>(kernel));
    const int multiprocessors = limits.multiprocessors;
    const auto memory = static_cast<std::int64_t>(slower_memory * shape.memory_time(steps()));
    SharedDepth best{tiles, 0, 0, 0};
    for (const int blocks : {1, 2, 3, 4, 6, 8}) {
      if (blocks > 1 && (blocks > limits.cluster_blocks || steps() < 2 * blocks || tiles > room[blocks])) continue;
      const int all = tiles * blocks, most = Matmul::blocks * multiprocessors, rounds = (all + most - 1) / most;
      const int of_each = std::min((all + multiprocessors - 1) / multiprocessors, Matmul::blocks);
      const std::int64_t step = Matmul::step_time + (of_each - 1) * Matmul::more_time;
      const std::int64_t multiplies = std::int64_t{rounds} * ((steps() + blocks - 1) / blocks) * step;
      const std::int64_t meeting = blocks == 1 ? 0 : Matmul::meeting_time + blocks * meets_each;
      const std::int64_t time = Matmul::begin_time + (rounds - 1) * again + meeting + std::max(multiplies, memory);
      if (blocks == 1 || time < best.time) best = {tiles, blocks, rounds, time};
    }
    return best;
  }
  void operator()(const SharedDepth& shared) {
    FewRowsOperands<T, products> operands;
    operands.a = CopiedMatrix<T>(a, false);
    int product = 0;
    for_each_of(b, [&](const auto& each) { operands.b[product++] = CopiedMatrix<T>(each, BDeep); });
    shape.tiles = shared.tiles;
    shape.blocks = shared.blocks;
    shape.allows_next = shared.tiles * shared.blocks * 2 <= limits.multiprocessors * Matmul::blocks;
    launch_early(grid(shared.tiles, shared.blocks), stream, kernel, operands,
                 with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  }
};

// The same call by blocks of either size, where there are both: of words of one product.
template <class T, bool BDeep, bool Words, class A, class B, class C>
class LineProduct {
  static constexpr bool has_thin = Words && most_together<C, several_count<B>> == 1;
  template <int Threads>
  using Launch = LineLaunch<T, BDeep, Words, Threads, A, B, C>;

 public:
  LineProduct(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
              const DeviceLimits& limits, Stream stream)
      : wide_{a, b, c, shape, limits, stream}, thin_{a, b, c, shape, limits, stream} {
    if (!wide_.fits()) return;
    shared_ = wide_.best();
    if constexpr (has_thin) {
      const SharedDepth other = thin_.fits() ? thin_.best() : shared_;
      is_thin_ = other.time < shared_.time;
      if (is_thin_) shared_ = other;
    }
  }

  // What it takes, in ns.
  std::int64_t time() const { return shared_.time; }
  void operator()() { is_thin_ ? thin_(shared_) : wide_(shared_); }

 private:
  Launch<256> wide_;
  Launch<has_thin ? 128 : 256> thin_;
  SharedDepth shared_{0, 0, 0, std::numeric_limits<std::int64_t>::max()};
  bool is_thin_ = false;
};

}  // namespace kgen::gpu

#endif
