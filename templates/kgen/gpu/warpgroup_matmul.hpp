// Matrix multiplication on the tensor cores of Hopper. Tiles of the operands come to a ring of stages (TilePipeline) by
// the copy engine, or through registers where they lie otherwise than it wants (EngineTiles, CopiedTiles); two
// warpgroups multiply them (WarpgroupProduct), each half of the rows of a tile; sums go from their registers to the
// sink, 8 lanes at a time. One block for each multiprocessor goes from tile to tile (TileOrder).
#pragma once

#include <optional>

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

  // Begins sums += a * b, for one stage's depth; without `adds` sums = a * b.
  KGEN_FN static void multiply(float (&sums)[N / 2], const T* a, const T* b, bool adds) {
    KGEN_UNROLL
    for (int k = 0; k < depth; k += step) {
      wgmma<T, N, !BDeep>(sums, boxed_operand<T, 64, true>(a, k), boxed_operand<T, depth, BDeep>(b, k), adds || k > 0);
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
  int blocks = 1;  // that share the depth of a tile

  // Tiles of `columns` columns that a group of product number `product` has beside each other.
  KGEN_FN int tiles_across(int product, int columns) const {
    return static_cast<int>((N[product] + columns - 1) / columns);
  }
  template <int Columns>
  KGEN_FN TileOrder order(int first, int together) const {
    return {static_cast<int>((M + 127) / 128), groups * tiles_across(first, Columns / together)};
  }
  // The first column of a tile, and the end of its group's.
  KGEN_FN Index<2> columns(int product, int columns, std::int64_t tile) const {
    const int each = tiles_across(product, columns), group = static_cast<int>(tile) / each;
    return {group * N[product] + (static_cast<int>(tile) - group * each) * columns, (group + 1) * N[product]};
  }
  KGEN_FN int steps(int depth) const { return static_cast<int>((K + depth - 1) / depth); }
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
    const int first_row = (thread_index() - loading_threads) / warpgroup_threads * 64;
    for_each_tile<Columns>(c, shape, [&]<int First, int Count>(const auto& sink, Index<2> origin,
                                                               std::int64_t end) KGEN_LAMBDA {
      constexpr int columns = Columns / Count;
      using Product = WarpgroupProduct<T, columns, BDeep>;
      float sums[Count][columns / 2] = {};  // else those of the tile before would live until here
      {
        typename Pipeline::Reading held;  // what products that are under way still read
        for (int k = 0; k < shape.steps(depth); ++k) {
          auto stage = pipeline.read();
          wgmma_fence();
          KGEN_UNROLL
          for (int i = 0; i < Count; ++i) {
            Product::multiply(sums[i], stage->a + first_row * depth, stage->b + i * columns * depth, k > 0);
          }
          wgmma_commit();
          wgmma_wait<1>();
          held = std::move(stage);
        }
        wgmma_wait<0>();
      }
      KGEN_UNROLL
      for (int i = 0; i < Count; ++i) settle(sums[i]);
      origin[0] += first_row;
      const Index<2> extents{shape.M, end};
      // The loads of some steps of a short sink are under way together; those of a long one would find no registers.
      constexpr bool is_short = view_count<std::remove_cvref_t<decltype(sink)>> <= 4;
      const bool inside = origin[0] + 64 <= extents[0] && origin[1] + columns <= extents[1];
      if (is_short && inside && shape.lanes == Lanes::constant_whole_vectors) {
        emit_sums<true, columns>(sums, known<Lanes::constant_whole_vectors>(sink), origin, extents);
      } else if (shape.lanes != Lanes::any) {
        emit_sums_in_turn<columns, 4>(sums, known<Lanes::whole_vectors>(sink), origin, extents);
      } else {
        emit_sums_in_turn<columns, 1>(sums, sink, origin, extents);
      }
    });
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
template <class T, class S>
inline constexpr bool is_matrix_of = false;
template <class T, class E>
inline constexpr bool is_matrix_of<T, View<E, 2>> = std::is_same_v<std::remove_const_t<E>, T>;
template <class T, class... S>
inline constexpr bool is_matrix_of<T, Several<S...>> = (is_matrix_of<T, S> && ...);
}  // namespace detail

// Whether operands and sinks of these types may be multiplied so.
template <class A, class B, class C>
inline constexpr bool has_warpgroup_matmul = ((detail::is_matrix_of<bf16, A> && detail::is_matrix_of<bf16, B>) ||
                                              (detail::is_matrix_of<f16, A> && detail::is_matrix_of<f16, B>)) &&
                                             most_together<C, several_count<B>> <= 2;

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
  for_each_sink<Products>(c, [&]<int First, int Count>(const auto&) {
    const TileOrder order = shape.template order<Columns>(First, Count);
    shape.tiles += order.rows * order.columns;
  });
  const Grid grid{Loads::name, std::min(shape.tiles, limits.multiprocessors), Matmul::threads,
                  Matmul::Pipeline::shared()};
  const bool aligned = shape.groups == 1 || shape.N[0] % 8 == 0;  // groups begin at multiples of 8 columns
  const auto seen = [&](const auto& sink) { return aligned ? with_access(sink, 8) : sink; };
  launch_early(grid, stream, kernel, *loads, with_each(c, seen), shape);
  return true;
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
// idle. The columns of the tiles that take the least.
template <int Products, bool Jointly>
int best_columns(const WarpgroupMatmulShape<Products>& shape, std::int64_t multiprocessors) {
  int best = 0;
  std::int64_t least = 0;
  for (const auto& [columns, time] : {std::pair{256, 256}, std::pair{192, 198}, std::pair{128, 141}}) {  // of a tile
    if (Jointly && columns == 192) continue;  // its halves are no boxes of 64
    std::int64_t tiles = 0;
    for (const std::int64_t N : shape.N) tiles += (shape.M + 127) / 128 * ((N + columns - 1) / columns);
    const std::int64_t needed = (tiles + multiprocessors - 1) / multiprocessors * time;
    if (best == 0 || needed < least) best = columns, least = needed;
  }
  return best;
}

// c = a * b for each of b: false where device or compiler do not allow it.
template <class T, bool BDeep, class A, class B, class C>
bool warpgroup_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                      const DeviceLimits& limits, Stream stream) {
  constexpr int products = several_count<B>;
  constexpr bool jointly = (most_together<C, products>) > 1;
  const int columns = best_columns<products, jointly>(shape, limits.multiprocessors);
  if (columns == 256 && launch_by_engine<T, 256, BDeep>(a, b, c, shape, limits, stream)) return true;
  if constexpr (!jointly) {
    if (columns == 192 && launch_by_engine<T, 192, BDeep>(a, b, c, shape, limits, stream)) return true;
  }
  if (columns == 128 && launch_by_engine<T, 128, BDeep>(a, b, c, shape, limits, stream)) return true;
  return launch_copied<T, BDeep>(a, b, c, shape, limits, stream);
}

}  // namespace kgen::gpu

#endif
