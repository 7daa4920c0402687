// Matrix multiplication on the tensor cores of Hopper. Tiles of the operands come to a ring of stages (TilePipeline) by
// the copy engine, or through registers where they lie otherwise than it wants (EngineTiles, CopiedTiles); two
// warpgroups multiply them (WarpgroupProduct), each half of the rows of a tile; sums go from their registers to the
// sink, 8 lanes at a time. One block for each multiprocessor goes from tile to tile (TileOrder).
#pragma once

#include <optional>

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tile_io.hpp"
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

  // sums += a * b, for the depth of these stages, when this returns: what the tensor cores keep of sums is too little
  // for much of it. `Most` columns at a time are on their way, beside the sums. a, b: elements of a stage to begin at.
  template <int Most, class... Stages>
  KGEN_FN static void add(float (&sums)[N / 2], int a, int b, const Stages&... stages) {
    constexpr int columns = N < Most ? N : Most;
    static_assert(N % columns == 0);
    using Part = WarpgroupProduct<T, columns, BDeep>;
    KGEN_UNROLL
    for (int n = 0; n < N; n += columns) {
      float part[columns / 2];
      wgmma_fence();
      bool adds = false;
      ((Part::multiply(part, stages->a + a, stages->b + b + n * depth, adds), adds = true), ...);
      wgmma_commit();
      wgmma_wait<0>();
      settle(part);
      KGEN_UNROLL
      for (int i = 0; i < columns / 2; ++i) sums[n / 2 + i] += part[i];
    }
  }
};

// ---- the kernel

// Of `Count` products. Those of each group, which are beside each other, have tiles of their own.
template <int Count>
struct WarpgroupMatmulShape {
  std::int64_t M, K, N[Count];  // N: columns of a group
  int tiles;    // of all products
  Lanes lanes;  // of what the sinks read and write: whole vectors of 8, or any
  int groups = 1;
  int blocks = 1;   // that share the depth of a tile
  int batches = 1;  // of M rows each, one behind the other: each begins at a multiple of batch_rows()
  int columns_asked = 0;  // of a tile; 0: what takes the least time

  // Tiles of `columns` columns that a group of product number `product` has beside each other.
  KGEN_FN int tiles_across(int product, int columns) const {
    return static_cast<int>((N[product] + columns - 1) / columns);
  }
  template <int Columns>
  KGEN_FN TileOrder order(int first, int together) const {
    return {batches * static_cast<int>((M + 127) / 128), groups * tiles_across(first, Columns / together)};
  }
  KGEN_FN int batch_rows() const { return static_cast<int>((M + 127) / 128) * 128; }
  // The end of the rows of its batch.
  KGEN_FN std::int64_t row_end(std::int64_t row) const {
    return batches == 1 ? M : row - static_cast<int>(row) % batch_rows() + M;
  }
  // The first column of a tile, and the end of its group's.
  KGEN_FN Index<2> columns(int product, int columns, std::int64_t tile) const {
    const int each = tiles_across(product, columns), group = static_cast<int>(tile) / each;
    return {group * N[product] + (static_cast<int>(tile) - group * each) * columns, (group + 1) * N[product]};
  }
  KGEN_FN int steps(int depth) const { return static_cast<int>((K + depth - 1) / depth); }
  // Counts the tiles of all sinks.
  template <int Columns, class C>
  void count_tiles(const C& c) {
    tiles = 0;
    for_each_sink<Count>(c, [&]<int First, int Together>(const auto&) {
      const TileOrder own = order<Columns>(First, Together);
      tiles += own.rows * own.columns;
    });
  }
};

// body.operator()<First, Count>(sink, origin, end) for a tile: it is of the products First to First + Count, which
// `sink` takes together, and begins at row origin[0] and column origin[1]; its group's columns end at `end`.
template <int Columns, int Products, class C, class Body>
KGEN_FN void at_tile(int tile, const C& c, const WarpgroupMatmulShape<Products>& shape, const Body& body) {
  int rest = tile;
  for_each_sink<Products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
    const TileOrder order = shape.template order<Columns>(First, Count);
    const int own = order.rows * order.columns;
    if (rest >= 0 && rest < own) {
      const Index<2> place = order(rest), columns = shape.columns(First, Columns / Count, place[1]);
      body.template operator()<First, Count>(sink, Index<2>{place[0] * 128, columns[0]}, columns[1]);
    }
    rest -= own;
  });
}
// The same for each tile of this block, in order.
template <int Columns, int Products, class C, class Body>
KGEN_FN void for_each_tile(const C& c, const WarpgroupMatmulShape<Products>& shape, const Body& body) {
  for (int tile = static_cast<int>(block_index()); tile < shape.tiles; tile += static_cast<int>(block_count())) {
    at_tile<Columns>(tile, c, shape, body);
  }
}

// Loads: EngineTiles or CopiedTiles, or for a convolution EnginePatches or CopiedPatches.
template <class T, int Columns, bool BDeep, class Loads>
struct WarpgroupMatmul {
  using Tiles = OperandTiles<T, Columns>;
  static constexpr int depth = Tiles::depth, stages = Columns == 256 ? 4 : Columns == 192 ? 5 : Columns == 128 ? 6 : 8;
  using Pipeline = TilePipeline<Tiles, stages, Loads::threads>;
  // The first threads load, those of two warpgroups behind them multiply.
  static constexpr bool by_engine = Loads::threads == 1;
  static constexpr int loading_threads = by_engine ? warpgroup_threads : Loads::threads;
  static constexpr int multiplying_threads = 2 * warpgroup_threads, threads = loading_threads + multiplying_threads;
  // Registers of a thread of each: together those that the launch gives.
  static constexpr int loading_registers = Loads::registers;
  static constexpr int multiplying_registers = by_engine ? (3 * 168 - loading_registers) / 2 : 256 - loading_registers;
  // Columns of which each stage's product is held beside the sums, where it is.
  static constexpr int held_columns = by_engine ? 128 : 64;

  // Fills stage after stage of all tiles of a block.
  template <int Products, class C>
  KGEN_FN static void load(Pipeline& pipeline, const Loads& loads, const C& c,
                           const WarpgroupMatmulShape<Products>& shape) {
    for_each_tile<Columns>(c, shape, [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t) KGEN_LAMBDA {
      auto tile = loads.template tile<First, Count>(static_cast<int>(origin[0]), static_cast<int>(origin[1]));
      for (int k = 0; k < shape.steps(depth); ++k) tile.load(pipeline.fill());
    });
  }

  // A warpgroup: multiplies half of the rows of each tile, and gives the sums to its sink.
  template <int Products, class C>
  KGEN_FN static void multiply(Pipeline& pipeline, const C& c, const WarpgroupMatmulShape<Products>& shape) {
    for_each_tile<Columns>(c, shape, [&]<int First, int Count>(const auto& sink, Index<2> origin,
                                                               std::int64_t end) KGEN_LAMBDA {
      constexpr int columns = Columns / Count;
      wgmma_sum_t<T> sums[Count][columns / 2] = {};  // else those of the tile before would live until here
      add_stages(pipeline, sums, [&] { return shape.steps(depth); });
      emit_tile<Count == Products>(sums, sink, origin, Index<2>{shape.row_end(origin[0]), end}, shape.lanes);
    });
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

 private:
  // The first of this warpgroup's rows of a tile.
  KGEN_FN static int first_row() { return (thread_index() - loading_threads) / warpgroup_threads * 64; }

  // Adds up this warpgroup's rows of a tile of steps() stages, as many columns of each product as there are sums for.
  // steps: asked again rather than kept in a register.
  template <int Count, int Half, class Steps>
  KGEN_FN static void add_stages(Pipeline& pipeline, wgmma_sum_t<T> (&sums)[Count][Half], const Steps& steps) {
    constexpr int columns = Columns / Count;
    const int first = first_row() * depth;
    using Product = WarpgroupProduct<T, 2 * Half, BDeep>;
    if constexpr (sums_are_short<T>) {
      const auto add = [&](const auto&... held) KGEN_LAMBDA {
        KGEN_UNROLL
        for (int i = 0; i < Count; ++i) {
          Product::template add<held_columns>(sums[i], first, i * columns * depth, held...);
        }
      };
      for (int k = 0; k + 1 < steps(); k += 2) {
        const auto one = pipeline.read(), other = pipeline.read();
        add(one, other);
      }
      if (steps() % 2 != 0) add(pipeline.read());
    } else {
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

  // Gives this warpgroup's sums of a tile that begins at `origin` to its sink, as far as `extents`.
  template <bool IsAlone, int Count, int Half, class C>
  KGEN_FN static void emit_tile(const wgmma_sum_t<T> (&sums)[Count][Half], const C& sink, Index<2> origin,
                                Index<2> extents, Lanes lanes) {
    constexpr int at_once = sums_are_short<T> ? 4 : 8;  // of more, ptxas keeps some of the sums in memory
    origin[0] += first_row();
    gpu::emit_tile<WarpgroupSums<2 * Half>, at_once, IsAlone>(sums, sink, origin, extents, lanes);
  }
};

template <class T, int Columns, bool BDeep, class Loads, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? WarpgroupMatmul<T, Columns, BDeep, Loads>::threads : 1), 1)
warpgroup_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, C c, WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    using Matmul = WarpgroupMatmul<T, Columns, BDeep, Loads>;
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size);
    take_turn();
    if (thread_index() < Matmul::loading_threads) {
      hold_registers<Matmul::loading_registers, RegisterShare::less>();
      if (thread_index() < Loads::threads) Matmul::load(pipeline, loads, c, shape);
    } else {
      hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
      Matmul::multiply(pipeline, c, shape);
    }
  }
}

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

// ---- launches

// The matrix whose lines are along axis 1 of the View, or with `across` along axis 0; nothing where the copy engine
// does not take it: a line's elements are neighbours in memory, and lines begin at multiples of 16 bytes. They end
// there as well: whether the engine fills the rest of 16 bytes with zeros is said nowhere.
template <class T>
std::optional<BoxedMemory<2>> matrix_in_memory(const View<T, 2>& view, bool across, int box_columns, int box_rows) {
  const int line = across ? 0 : 1, other = 1 - line;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t columns = view.extent(line), rows = view.extent(other);
  const std::int64_t pitch = rows > 1 ? view.stride(other) * size : (columns * size + 15) / 16 * 16;
  const bool fits = (columns == 1 || view.stride(line) == 1) && columns * size % 16 == 0 && pitch >= columns * size &&
                    pitch % 16 == 0 && pitch < std::int64_t{1} << 40 &&
                    reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0;
  if (!fits) return std::nullopt;
  return BoxedMemory<2>{view.data(), {columns, rows}, {0, pitch}, {box_columns, box_rows}};
}

namespace detail {
template <class T, class A, class B>
inline constexpr bool are_memory_of = is_memory_of<T, A> && is_memory_of<T, B>;
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

// Launches the kernel with the loads that make() gives; false where device or compiler do not allow it, or there
// are none.
template <class T, int Columns, bool BDeep, class Loads, int Products, class C, class Make>
bool launch_warpgroup_matmul(const C& c, WarpgroupMatmulShape<Products> shape, const DeviceLimits& limits,
                             Stream stream, const Make& make) {
  using Matmul = WarpgroupMatmul<T, Columns, BDeep, Loads>;
  const auto kernel = warpgroup_matmul_kernel<T, Columns, BDeep, Loads, Products, C>;
  if (limits.shared_bytes < Matmul::Pipeline::shared()) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
  const std::optional<Loads> loads = make();
  if (!loads) return false;
  shape.template count_tiles<Columns>(c);
  const Grid grid{Loads::name, std::min(shape.tiles, limits.multiprocessors), Matmul::threads,
                  Matmul::Pipeline::shared()};
  const bool aligned = shape.groups == 1 || shape.N[0] % 8 == 0;  // groups begin at multiples of 8 columns
  const auto seen = [&](const auto& sink) { return aligned ? with_access(sink, 8) : sink; };
  launch_early(grid, stream, kernel, *loads, with_each(c, seen), shape);
  return true;
}

// Whether device and compiler allow it, where the copy engine takes the operands.
template <class T, bool BDeep, class C, int Products>
bool runs_warpgroup_matmul(const WarpgroupMatmulShape<Products>&, const DeviceLimits& limits) {
  using Loads = EngineTiles<OperandTiles<T, 128>, BDeep, Products>;
  using Matmul = WarpgroupMatmul<T, 128, BDeep, Loads>;
  const auto kernel = warpgroup_matmul_kernel<T, 128, BDeep, Loads, Products, C>;
  return limits.shared_bytes >= Matmul::Pipeline::shared() &&
         runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
}

// The operands as the copy engine is told of them, `rows` of the left one for a stage; nothing where it does not take
// one.
template <class T, class Tiles, bool BDeep, class A, class B, class C>
auto engine_tiles(const A& a, const B& b, const C& c, int rows = Tiles::rows) {
  constexpr int products = several_count<B>;
  EngineTiles<Tiles, BDeep, products> loads;
  loads.rows = rows;
  bool all = true;
  const auto describe = [&](TensorMap& map, const std::optional<BoxedMemory<2>>& matrix) {
    const std::optional<TensorMap> made = matrix && all ? tensor_map<T>(*matrix) : std::nullopt;
    all = made.has_value();
    if (all) map = *made;
  };
  describe(loads.a, matrix_in_memory(a, false, Tiles::depth, rows));
  for_each_sink<products>(c, [&]<int First, int Count>(const auto&) {
    constexpr int box = BDeep ? Tiles::columns / Count : Tiles::depth;
    describe(loads.b[First], matrix_in_memory(nth<First>(b), BDeep, Tiles::depth, box));
    if constexpr (Count == 2)
      describe(loads.b[First + 1], matrix_in_memory(nth<First + 1>(b), BDeep, Tiles::depth, box));
  });
  return all ? std::optional(loads) : std::nullopt;
}

template <class T, int Columns, bool BDeep, class A, class B, class C>
bool launch_by_engine(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                      const DeviceLimits& limits, Stream stream) {
  using Tiles = OperandTiles<T, Columns>;
  using Loads = EngineTiles<Tiles, BDeep, several_count<B>>;
  return launch_warpgroup_matmul<T, Columns, BDeep, Loads>(c, shape, limits, stream,
                                                           [&] { return engine_tiles<T, Tiles, BDeep>(a, b, c); });
}

template <class T, bool BDeep, class A, class B, class C>
bool launch_copied(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                   const DeviceLimits& limits, Stream stream) {
  using Loads = CopiedTiles<T, OperandTiles<T, 128>, BDeep, several_count<B>>;
  return launch_warpgroup_matmul<T, 128, BDeep, Loads>(c, shape, limits, stream, [&] {
    Loads loads;
    loads.a = CopiedMatrix<T>(a, false);
    int product = 0;
    for_each_of(b, [&](const auto& each) { loads.b[product++] = CopiedMatrix<T>(each, BDeep); });
    return std::optional(loads);
  });
}

// Wider tiles read each element fewer times; narrower ones take less time where wider ones would leave multiprocessors
// idle, though memory slows the narrowest down. Which of these columns of a tile take the least, or those asked for.
template <int... Columns, int Products>
int best_columns(const WarpgroupMatmulShape<Products>& shape, std::int64_t multiprocessors) {
  if (((shape.columns_asked == Columns) || ...)) return shape.columns_asked;
  const auto time = [](int columns) { return columns == 256 ? 256 : columns == 192 ? 198 : columns == 128 ? 141 : 96; };
  int best = 0;
  std::int64_t least = 0;
  for (const int columns : {Columns...}) {
    std::int64_t tiles = 0;
    for (int product = 0; product < Products; ++product) {
      tiles += shape.batches * ((shape.M + 127) / 128) * shape.groups * shape.tiles_across(product, columns);
    }
    const std::int64_t needed = (tiles + multiprocessors - 1) / multiprocessors * time(columns);
    if (best == 0 || needed < least) best = columns, least = needed;
  }
  return best;
}

// c = a * b for each of b: false where device or compiler do not allow it.
template <class T, bool BDeep, class A, class B, class C>
bool warpgroup_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                      const DeviceLimits& limits, Stream stream) {
  constexpr int products = several_count<B>;
  // Halves of 192 are no boxes of 64, nor are they columns of which the sums are short.
  constexpr bool thirds = (most_together<C, products>) == 1 && !sums_are_short<T>;
  const int columns = thirds ? best_columns<256, 192, 128>(shape, limits.multiprocessors)
                             : best_columns<256, 128>(shape, limits.multiprocessors);
  if (columns == 256 && launch_by_engine<T, 256, BDeep>(a, b, c, shape, limits, stream)) return true;
  if constexpr (thirds) {
    if (columns == 192 && launch_by_engine<T, 192, BDeep>(a, b, c, shape, limits, stream)) return true;
  }
  if (columns == 128 && launch_by_engine<T, 128, BDeep>(a, b, c, shape, limits, stream)) return true;
  return launch_copied<T, BDeep>(a, b, c, shape, limits, stream);
}

}  // namespace kgen::gpu

#endif
