// Matrix multiplication on the tensor cores of Hopper. Tiles of the operands come to a ring of stages (TilePipeline) by
// the copy engine, or through registers where they lie otherwise than it wants (EngineTiles, CopiedTiles); two
// warpgroups multiply them (WarpgroupProduct), each half of the rows of a tile; sums go from their registers to the
// sink, 8 lanes at a time. One block for each multiprocessor goes from tile to tile (warpgroup_shape.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/row_statistics.hpp"
#include "kgen/gpu/rows_ahead.hpp"
#include "kgen/gpu/tile_io.hpp"
#include "kgen/gpu/warpgroup_shape.hpp"
#include "kgen/gpu/warpgroup_sums.hpp"
#include "kgen/several.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// ---- parts

// Sums of 64 rows and N columns in the registers of a warpgroup. BDeep: the lines of b are along its depth, as those of
// a; else along its columns, 64 to a box.
template <class T, int N, bool BDeep>
struct WarpgroupProduct {
  static constexpr int depth = swizzle_bytes / static_cast<int>(sizeof(T)), step = 32 / static_cast<int>(sizeof(T));
  static_assert(BDeep || !deep_only<T>);

  // Begins sums += a * b, for one stage's depth; without `adds` sums = a * b.
  KGEN_FN static void multiply(wgmma_sum_t<T> (&sums)[N / 2], const T* a, const T* b, bool adds) {
    KGEN_UNROLL
    for (int k = 0; k < depth; k += step) {
      wgmma<T, N, !BDeep>(sums, boxed_operand<T, 64, true>(a, k), boxed_operand<T, depth, BDeep>(b, k), adds || k > 0);
    }
  }
};

// A result of `Axes` axes and one of columns as a matrix, for the sink of it: the number of a row says where it is.
template <class Out, int Axes>
struct NumberedRows {
  Out tensor;
  Positions<Axes> rows;

  template <int W>
  KGEN_FN void operator()(Index<2> at, const Vec<float, W>& lanes) const {
    store_to(tensor, join(rows(static_cast<std::uint32_t>(at[0])), Index<1>{at[1]}), lanes);
  }
};
// How many axes a sink's results have.
template <class C>
inline constexpr int sink_axes = 2;
template <class Out, int Axes>
inline constexpr int sink_axes<NumberedRows<Out, Axes>> = Axes + 1;

// ---- the kernel

// Loads: EngineTiles or CopiedTiles, or for a convolution EnginePatches or CopiedPatches.
template <class T, int Columns, bool BDeep, class Loads>
struct WarpgroupMatmul {
  using Tiles = OperandTiles<T, Columns>;
  static constexpr int depth = Tiles::depth, stages = Columns == 256 ? 4 : Columns == 192 ? 5 : Columns == 128 ? 6 : 8;
  static constexpr int blocks = sharing_blocks<Loads>;
  using Pipeline = TilePipeline<Tiles, stages, Loads::threads, blocks>;
  using Order = BlockTiles<Columns, blocks>;
  // The first threads load, those of two warpgroups behind them multiply.
  static constexpr bool by_engine = Loads::threads == 1;
  static constexpr int loading_threads = by_engine ? warpgroup_threads : Loads::threads;
  static constexpr int multiplying_threads = 2 * warpgroup_threads, threads = loading_threads + multiplying_threads;
  // Registers of a thread of each: together those that the launch gives.
  static constexpr int loading_registers = Loads::registers;
  static constexpr int multiplying_registers = by_engine ? (3 * 168 - loading_registers) / 2 : 256 - loading_registers;
  // Columns of which each stage's product is held beside the sums, where it is: as many as there are registers for.
  static constexpr int held_columns = !by_engine ? 64 : Columns == 192 ? 192 : 128;

  // Fills stage after stage of all tiles of a block, and asks for what the sink will read of them. Ring: a Pipeline, or
  // one whose stages have something beside the tiles.
  template <class Ring, int Products, class C>
  KGEN_FN static void load(Ring& pipeline, const Loads& loads, const RowsAhead& ahead, const C& c,
                           const WarpgroupMatmulShape<Products>& shape) {
    const int first = Order::first(), step = Order::step();
    const int behind = ahead.count > 0 ? tiles_behind(shape.steps(depth)) * step : 0;
    for (int tile = first; tile < shape.tiles + behind; tile += step) {
      if (tile < shape.tiles) fill_tile(pipeline, loads, c, shape, tile);
      if (by_engine && ahead.count > 0 && tile - behind >= first) ask_for_tile(ahead, c, shape, tile - behind);
    }
    if constexpr (blocks > 1) pipeline.drain();
  }

  // A warpgroup: multiplies half of the rows of each tile, and gives the sums to its sink.
  template <int Products, class C>
  KGEN_FN static void multiply(Pipeline& pipeline, const C& c, const WarpgroupMatmulShape<Products>& shape) {
    const auto body = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      constexpr int columns = Columns / Count;
      wgmma_sum_t<T> sums[Count][columns / 2] = {};  // else those of the tile before would live until here
      add_stages(pipeline, sums, [&] { return shape.steps(depth); });
      emit_tile<Count == Products>(sums, sink, origin, Index<2>{shape.row_end(origin[0]), end}, shape.lanes,
                                   shape.dealt);
    };
    for (int tile = Order::first(); tile < shape.tiles; tile += Order::step()) Order::at(tile, c, shape, body);
  }

  // A tile of which this warpgroup has no rows.
  KGEN_FN static void skip_tile(Pipeline& pipeline, int steps) {
    for (int k = 0; k < steps; ++k) pipeline.read();
  }

  // multiply() of a tile that begins at `origin`, of `steps` stages, and gives the sums to its sink as far as
  // `extents`. IsAlone: the kernel has no other sink. Width: so many columns of each product are multiplied.
  template <int Count, bool IsAlone, int Width = Columns / Count, class C>
  KGEN_FN static void multiply_tile(Pipeline& pipeline, const C& sink, Index<2> origin, Index<2> extents, int steps,
                                    Lanes lanes) {
    wgmma_sum_t<T> sums[Count][Width / 2] = {};  // else those of the tile before would live until here
    add_stages(pipeline, sums, [&] { return steps; });
    emit_tile<IsAlone>(sums, sink, origin, extents, lanes);
  }

  // What comes of a stage: of filters of which there are few, no more than there are.
  KGEN_FN static int stage_bytes(const Loads& loads) {
    if constexpr (requires { loads.columns; }) {
      return loads.bytes();
    } else {
      return static_cast<int>(sizeof(Tiles));
    }
  }

  // The first of this warpgroup's rows of a tile.
  KGEN_FN static int first_row() { return (thread_index() - loading_threads) / warpgroup_threads * 64; }

  // Gives this warpgroup's sums of a tile that begins at `origin` to its sink, as far as `extents`.
  template <bool IsAlone, int Count, int Half, class C>
  KGEN_FN static void emit_tile(const wgmma_sum_t<T> (&sums)[Count][Half], const C& sink, Index<2> origin,
                                Index<2> extents, Lanes lanes, bool dealt = false) {
    // Of more, ptxas keeps some of the sums in memory: places in batches of several axes take registers, too.
    constexpr int at_once = (sink_axes<C>) > 3 ? 2 : sums_are_short<T> ? 1 : 8;
    origin[0] += first_row();
    if constexpr (makes_statistics<C>) {
      emit_with_statistics<WarpgroupSums<2 * Half>>(sums, sink, origin, extents);
    } else {
      constexpr Dealing dealing = dealing_of<Loads>;
      constexpr bool always = dealing == Dealing::always;
      gpu::emit_tile<WarpgroupSums<2 * Half>, at_once, IsAlone>(sums, sink, origin, extents,
                                                                always ? Lanes::constant_whole_vectors : lanes,
                                                                always || (dealing == Dealing::asked && dealt));
    }
  }

 private:
  // How many tiles of so many steps the one that is multiplied is behind the one that has been filled last, at most.
  // What is asked for earlier, the cache, which all multiprocessors share, has lost again when it is needed.
  KGEN_FN static int tiles_behind(int steps) { return steps > 0 ? stages / steps : 0; }

  template <class Ring, int Products, class C>
  KGEN_FN static void fill_tile(Ring& pipeline, const Loads& loads, const C& c,
                                const WarpgroupMatmulShape<Products>& shape, int number) {
    const auto fill = [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t) KGEN_LAMBDA {
      auto tile = loads.template tile<First, Count>(static_cast<int>(origin[0]), static_cast<int>(origin[1]));
      for (int k = 0; k < shape.steps(depth); ++k) tile.load(pipeline.fill());
    };
    Order::at(number, c, shape, fill);
  }
  template <int Products, class C>
  KGEN_FN static void ask_for_tile(const RowsAhead& ahead, const C& c, const WarpgroupMatmulShape<Products>& shape,
                                   int number) {
    const auto ask = [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      const std::int64_t behind = origin[1] + Columns / Count;
      ahead.ask(static_cast<int>(origin[0]), static_cast<int>(origin[1]),
                static_cast<int>(behind < end ? behind : end));
    };
    Order::at(number, c, shape, ask);
  }

  // Adds up this warpgroup's rows of a tile of steps() stages, as many columns of each product as there are sums for.
  // steps: asked again rather than kept in a register.
  template <int Count, int Half, class Steps>
  KGEN_FN static void add_stages(Pipeline& pipeline, wgmma_sum_t<T> (&sums)[Count][Half], const Steps& steps) {
    constexpr int columns = Columns / Count;
    if constexpr (sums_are_short<T>) {
      for (int k = 0; k + 1 < steps(); k += 2) add_apart<2>(pipeline, sums);
      if (steps() % 2 != 0) add_apart<1>(pipeline, sums);
    } else {
      const int first = first_row() * depth;
      using Product = WarpgroupProduct<T, 2 * Half, BDeep>;
      typename Pipeline::Reading held;  // what products that are under way still read
      for (int k = 0; k < steps(); ++k) {
        auto stage = pipeline.read();
        wgmma_fence();
        KGEN_UNROLL
        for (int i = 0; i < Count; ++i) {
          Product::multiply(sums[i], stage->a + first, stage->b + i * columns * depth, k > 0);
        }
        wgmma_commit();
        wgmma_wait<1>();
        held = std::move(stage);
      }
      wgmma_wait<0>();
    }
    KGEN_UNROLL
    for (int i = 0; i < Count; ++i) settle(sums[i]);
  }

  // Adds the next `Stages` stages: what the tensor cores keep of sums is too little for more of the depth. Some columns
  // at a time are on their way, beside the sums. Of two, each is waited for when it is needed, and given back as soon
  // as the last products of it are done: if both came and went together, the next would come too late
  // (tests/bench/MATMUL.md).
  template <int Stages, int Count, int Half>
  KGEN_FN static void add_apart(Pipeline& pipeline, float (&sums)[Count][Half]) {
    constexpr int width = 2 * Half < held_columns ? 2 * Half : held_columns, parts = 2 * Half / width;
    static_assert(2 * Half % width == 0);
    const int first = first_row() * depth;
    auto one = pipeline.read();
    typename Pipeline::Reading other;
    KGEN_UNROLL
    for (int i = 0; i < Count * parts; ++i) {
      const int product = i / parts, column = i % parts * width;
      const bool is_last = i + 1 == Count * parts;
      float part[width / 2];
      const auto begin = [&](const auto& stage, bool adds) KGEN_LAMBDA {
        const int b = (product * Columns / Count + column) * depth;
        wgmma_fence();
        WarpgroupProduct<T, width, BDeep>::multiply(part, stage->a + first, stage->b + b, adds);
        wgmma_commit();
      };
      begin(one, false);
      if constexpr (Stages == 2) {
        if (i == 0) other = pipeline.read();
        begin(other, true);
        if (is_last) {
          wgmma_wait<1>();
          one = {};
        }
      }
      wgmma_wait<0>();
      if (Stages == 2 && is_last) other = {};
      settle(part);
      KGEN_UNROLL
      for (int each = 0; each < width / 2; ++each) sums[product][column / 2 + each] += part[each];
    }
  }
};

template <class T, int Columns, bool BDeep, class Loads, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? WarpgroupMatmul<T, Columns, BDeep, Loads>::threads : 1), 1)
warpgroup_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, const KGEN_GRID_CONSTANT RowsAhead ahead, C c,
                        WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    using Matmul = WarpgroupMatmul<T, Columns, BDeep, Loads>;
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, Matmul::stage_bytes(loads));
    take_turn();
    if (thread_index() < Matmul::loading_threads) {
      hold_registers<Matmul::loading_registers, RegisterShare::less>();
      if (thread_index() < Loads::threads) Matmul::load(pipeline, loads, ahead, c, shape);
    } else {
      hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
      Matmul::multiply(pipeline, c, shape);
    }
  }
}

// ---- launches

// Whether nothing writes what these operands read from the load of a model on.
template <class S>
bool are_lasting(const S& operands) {
  bool all = true;
  for_each_of(operands, [&](const auto& each) {
    for_each_view(each, [&](const auto& view) { all = all && view.access().lasting; });
  });
  return all;
}

namespace detail {
template <class T, class A, class B>
inline constexpr bool are_memory_of = is_memory_of<T, A>&& is_memory_of<T, B>;
}  // namespace detail

// Whether the tensor cores multiply operands of these types, and keep so many bits of mantissa of them and of what is
// added up.
template <int LeastBits, class A, class B>
inline constexpr bool has_warpgroup_operands = detail::are_memory_of<bf16, A, B> || detail::are_memory_of<f16, A, B> ||
                                               (LeastBits <= 13 && (detail::are_memory_of<f8e4m3, A, B> ||
                                                                    detail::are_memory_of<f8e5m2, A, B>)) ||
                                               (LeastBits <= 10 && detail::are_memory_of<float, A, B>);

// And whether they give them to such sinks.
template <int LeastBits, class A, class B, class C>
inline constexpr bool has_warpgroup_matmul =
    has_warpgroup_operands<LeastBits, A, B>&& most_together<C, several_count<B>> <= 2;

// Launches a kernel of tiles with the loads that make() gives, the sink, the shape, and what else it takes; false where
// device or compiler do not allow it, or there are none.
template <class Matmul, int Columns, int Products, class Kernel, class C, class Make, class... More>
bool launch_tiles(Kernel kernel, const C& c, WarpgroupMatmulShape<Products> shape, const DeviceLimits& limits,
                  Stream stream, const Make& make, const More&... more) {
  if (limits.shared_bytes < Matmul::Pipeline::shared()) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
  const auto loads = make();
  if (!loads) return false;
  const int all = shape.template count_tiles<Matmul::Order::rows>(c, Columns);
  shape.tiles = shape.most_tiles == 0 ? all : std::min(all, shape.most_tiles);
  Grid grid{std::remove_cvref_t<decltype(*loads)>::name, std::min(shape.tiles, limits.multiprocessors), Matmul::threads,
            Matmul::Pipeline::shared(), Matmul::blocks};
  if constexpr (Matmul::blocks > 1) {
    const int at_once = clusters_at_once(grid, limits, stream, reinterpret_cast<const void*>(kernel))[Matmul::blocks];
    if (at_once == 0) return false;
    grid.blocks = std::min(shape.tiles, at_once) * Matmul::blocks;
  }
  RowsAhead ahead;
  if constexpr (Products == 1 && Matmul::by_engine) {
    if (shape.batches == 1) ahead = rows_ahead(c, shape.M, shape.N[0] * shape.groups);
  }
  const bool aligned = shape.groups == 1 || shape.N[0] % 8 == 0;  // groups begin at multiples of 8 columns
  const auto seen = [&](const auto& sink) { return aligned ? with_access(sink, 8) : sink; };
  launch_early(grid, stream, kernel, *loads, ahead, with_each(c, seen), shape, more...);
  return true;
}

template <class T, int Columns, bool BDeep, class Loads, int Products, class C, class Make>
bool launch_warpgroup_matmul(const C& c, const WarpgroupMatmulShape<Products>& shape, const DeviceLimits& limits,
                             Stream stream, const Make& make) {
  return launch_tiles<WarpgroupMatmul<T, Columns, BDeep, Loads>, Columns>(
      warpgroup_matmul_kernel<T, Columns, BDeep, Loads, Products, C>, c, shape, limits, stream, make);
}

// Whether device and compiler allow it, where the copy engine takes the operands.
template <class T, bool BDeep, class Loads, int Products, class C>
bool runs_warpgroup_matmul(const DeviceLimits& limits) {
  using Matmul = WarpgroupMatmul<T, 128, BDeep, Loads>;
  const auto kernel = warpgroup_matmul_kernel<T, 128, BDeep, Loads, Products, C>;
  return limits.shared_bytes >= Matmul::Pipeline::shared() &&
         runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
}

// The operands as the copy engine is told of them, `rows` of the left one for a stage; nothing where it does not take
// one.
template <class T, class Tiles, bool BDeep, int Blocks = 1, Dealing Deals = Dealing::never, class A, class B, class C>
auto engine_tiles(const A& a, const B& b, const C& c, int rows = Tiles::rows, bool dealt = false) {
  constexpr int products = several_count<B>;
  using Loads = EngineTiles<Tiles, BDeep, products, Blocks, Deals>;
  Loads loads;
  loads.rows = rows;
  dealt = dealt || Deals == Dealing::always;
  loads.dealt = dealt;
  bool all = true;
  const auto describe = [&](TensorMap& map, const std::optional<BoxedMemory<2>>& matrix, bool right = true) {
    const auto make = [&] {
      if constexpr (Deals != Dealing::never) {
        if (right) return tensor_map<T>(dealt_memory(*matrix, dealt));
      }
      return tensor_map<T>(*matrix);
    };
    const std::optional<TensorMap> made = matrix && all ? make() : std::nullopt;
    all = made.has_value();
    if (all) map = *made;
  };
  describe(loads.a, matrix_in_memory(a, false, Tiles::depth, rows), false);
  for_each_sink<products>(c, [&]<int First, int Count>(const auto&) {
    constexpr int box = Loads::template box<Count>;
    describe(loads.b[First], matrix_in_memory(nth<First>(b), BDeep, Tiles::depth, box));
    if constexpr (Count == 2)
      describe(loads.b[First + 1], matrix_in_memory(nth<First + 1>(b), BDeep, Tiles::depth, box));
  });
  return all ? std::optional(loads) : std::nullopt;
}

// Whether columns may come dealt: there are whole ones for the threads, and sinks take them in whole vectors.
template <int Products>
bool can_deal(const WarpgroupMatmulShape<Products>& shape) {
  bool all = shape.lanes == Lanes::constant_whole_vectors;
  for (const std::int64_t each : shape.N) all = all && each % dealt_columns == 0;
  return all;
}

// The same of floats of 8 bits, where it pays: of more depth stages take 1 % longer so (tests/bench/MATMUL.md).
template <int Products>
bool pays_dealing_bytes(const WarpgroupMatmulShape<Products>& shape) {
  return shape.K <= 2048 && can_deal(shape);
}

template <class T, int Columns, bool BDeep, int Blocks, Dealing Deals, class A, class B, class C>
bool launch_dealing(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                    const DeviceLimits& limits, Stream stream) {
  using Tiles = OperandTiles<T, Columns>;
  using Loads = EngineTiles<Tiles, BDeep, several_count<B>, Blocks, Deals>;
  shape.dealt = Deals != Dealing::never && can_deal(shape);
  const auto make = [&] { return engine_tiles<T, Tiles, BDeep, Blocks, Deals>(a, b, c, Tiles::rows, shape.dealt); };
  const auto launch = [&] { return launch_warpgroup_matmul<T, Columns, BDeep, Loads>(c, shape, limits, stream, make); };
  if (launch()) return true;
  if (Deals != Dealing::asked || !shape.dealt) return false;
  shape.dealt = false;  // in case it is the order of their columns that a driver does not take
  return launch();
}

// How the columns of a product's right operands come, but those of floats of 8 bits of little depth. Sinks that read
// something take them as they are: a branch would keep their loads apart.
template <class T, bool BDeep, class C>
inline constexpr Dealing product_dealing =
    BDeep && !makes_statistics<C> && !sums_are_short<T> && view_count<C> == 1 ? Dealing::asked : Dealing::never;

template <class T, int Columns, bool BDeep, int Blocks = 1, class A, class B, class C>
bool launch_by_engine(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                      const DeviceLimits& limits, Stream stream) {
  const auto launch = [&]<Dealing Deals>() {
    return launch_dealing<T, Columns, BDeep, Blocks, Deals>(a, b, c, shape, limits, stream);
  };
  constexpr Dealing dealing = Blocks > 1 ? Dealing::never : product_dealing<T, BDeep, C>;
  if constexpr (BDeep && Blocks == 1 && sums_are_short<T> && !makes_statistics<C>) {
    // No register is left for what only the launch knows.
    if (pays_dealing_bytes(shape) && launch.template operator()<Dealing::always>()) return true;
  }
  return launch.template operator()<dealing>();
}

// What takes two things that go on together, each so long alone: as the longer, and where they are alike longer still.
inline std::int64_t time_together(std::int64_t one, double other) {
  return static_cast<std::int64_t>(std::hypot(static_cast<double>(one), other));
}

// What tiles of 128 rows and so many columns take on an H100, in ns: each stage of the depth where few multiprocessors
// have tiles, where all have, which slow each other down at the second-level cache, and where lines begin between
// multiples of 128 bytes besides, for which that is asked for two lines instead of one; and the end, when sums go to
// the sink and nothing multiplies. `launch` is all that is there besides. Wider tiles read each element fewer times.
struct TileTime {
  int columns, stage, crowded_stage, straddling_stage, end;
  static constexpr int launch = 1600;

  // Of so many tiles in turn, each of `steps` stages: that share of a product. crowd: the share of multiprocessors that
  // have tiles; of what that does the least and the most were found at a fifth and at five sixths.
  template <class Shape>
  std::int64_t time(std::int64_t rounds, std::int64_t steps, const Shape& shape, double share = 1,
                    double crowd = 1) const {
    const int most = shape.straddles ? straddling_stage : crowded_stage;
    const double each = stage + std::clamp((crowd - 0.2) / 0.65, 0.0, 1.0) * (most - stage);
    const double multiplies = static_cast<double>(rounds * steps) * each;
    return launch + rounds * end +
           time_together(static_cast<std::int64_t>(multiplies), shape.memory_time(steps, share));
  }
};
inline constexpr TileTime tile_times[] = {
    {256, 575, 700, 880, 2100}, {192, 430, 535, 660, 1700}, {128, 285, 405, 530, 1100}, {64, 208, 330, 430, 700}};
// The same of two blocks of a cluster that bring right operands for each other, half of what each would ask for. Where
// lines begin at multiples of 128 bytes, that makes no difference, and clusters begin later
// (tests/bench/MATMUL_KERNELS.md).
inline constexpr int cluster_launch = 1600;  // more than single blocks take, to which columns may be dealt
inline constexpr TileTime pair_times[] = {
    {256, 575, 630, 630, 2100}, {192, 430, 490, 490, 1700}, {128, 285, 360, 360, 1100}};

// Tiles of which columns take the least time, how much, and by clusters of how many blocks; or those asked for.
struct TileChoice {
  int columns;
  std::int64_t time;
  int blocks = 1;
};
template <int... Columns, int Products>
TileChoice best_tiles(const WarpgroupMatmulShape<Products>& shape, std::int64_t multiprocessors, std::int64_t steps,
                      int blocks = 1) {
  TileChoice best{0, 0};
  const std::int64_t row_tiles = (shape.M + 128 * blocks - 1) / (128 * blocks), at_once = multiprocessors / blocks;
  const int more = blocks > 1 ? cluster_launch : 0;
  const auto consider = [&](const TileTime& each) {
    if (((each.columns != Columns) && ...) || (best.columns != 0 && best.columns == shape.columns_asked)) return;
    std::int64_t tiles = 0;
    for (int product = 0; product < Products; ++product) {
      tiles += shape.batches * row_tiles * shape.groups * shape.tiles_across(product, each.columns);
    }
    const std::int64_t rounds = (tiles + at_once - 1) / at_once;
    const double crowd = static_cast<double>(tiles) / static_cast<double>(rounds * at_once);
    const std::int64_t time = each.time(rounds, steps, shape, 1, crowd) + more;
    const bool asked = shape.columns_asked == each.columns;
    if (asked || best.columns == 0 || time < best.time) best = {each.columns, time, blocks};
  };
  if (blocks == 1) {
    for (const TileTime& each : tile_times) consider(each);
  } else {
    for (const TileTime& each : pair_times) consider(each);
  }
  return best;
}
template <int... Columns, int Products>
int best_columns(const WarpgroupMatmulShape<Products>& shape, std::int64_t multiprocessors, std::int64_t steps) {
  return best_tiles<Columns...>(shape, multiprocessors, steps).columns;
}

// Of which operands blocks may bring some for each other. Of those of other sizes it was not timed.
template <class T>
inline constexpr bool comes_in_pairs = sizeof(T) == 2;

// Of which products there are tiles of 64 columns.
template <class T, int Products>
inline constexpr bool has_narrow_tiles = Products == 1 && sizeof(T) == 2;

// The same of one call's products, where each sink takes at most `Together` of them.
template <class T, int Together, int Products>
TileChoice best_tiles_of(const WarpgroupMatmulShape<Products>& shape, const DeviceLimits& limits) {
  const std::int64_t steps = shape.steps(swizzle_bytes / static_cast<int>(sizeof(T)));
  const auto best = [&](int blocks) {
    if constexpr (Together > 1) {  // halves of 192 are no boxes of 64
      return best_tiles<256, 128>(shape, limits.multiprocessors, steps, blocks);
    } else if constexpr (has_narrow_tiles<T, Products>) {
      return best_tiles<256, 192, 128, 64>(shape, limits.multiprocessors, steps, blocks);
    } else {
      return best_tiles<256, 192, 128>(shape, limits.multiprocessors, steps, blocks);
    }
  };
  const TileChoice alone = best(1);
  const bool have_room = limits.cluster_blocks >= 2 && limits.multiprocessors >= 2;
  if (!comes_in_pairs<T> || !shape.straddles || shape.batches > 1 || !have_room) return alone;
  const TileChoice pairs = best(2);
  const bool taken = shape.columns_asked == 0 || shape.columns_asked == pairs.columns;
  return taken && pairs.time < alone.time ? pairs : alone;
}

// c = a * b for each of b: false where device, compiler or where operands lie do not allow it.
template <class T, bool BDeep, class A, class B, class C>
bool warpgroup_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                      const DeviceLimits& limits, Stream stream) {
  constexpr int together = most_together<C, several_count<B>>;
  const TileChoice best = best_tiles_of<T, together>(shape, limits);
  const auto launch = [&]<int Columns>() {
    if (best.columns != Columns) return false;
    if constexpr (comes_in_pairs<T> && Columns > 64) {
      if (best.blocks == 2 && launch_by_engine<T, Columns, BDeep, 2>(a, b, c, shape, limits, stream)) return true;
    }
    return launch_by_engine<T, Columns, BDeep>(a, b, c, shape, limits, stream);
  };
  if constexpr (together == 1) {
    if (launch.template operator()<192>()) return true;
  }
  if constexpr (has_narrow_tiles<T, several_count<B>>) {
    if (launch.template operator()<64>()) return true;
  }
  return launch.template operator()<256>() || launch.template operator()<128>();
}

}  // namespace kgen::gpu

#endif
