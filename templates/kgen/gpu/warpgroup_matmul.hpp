// Matrix multiplication on the tensor cores of Hopper, where both operands lie in memory as its copy engine takes them.
// The copy engine brings tiles of the operands to a ring of stages (TilePipeline); two warpgroups multiply them
// (WarpgroupProduct), each half of the rows of a tile; sums go from their registers to the sink, 8 lanes at a time. One
// block for each multiprocessor goes from tile to tile.
#pragma once

#include <bit>
#include <optional>

#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tile_pipeline.hpp"
#include "kgen/several.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// ---- parts

// What travels in a stage: 128 rows of the left operand, `Columns` columns of the right operands, a line of 128 bytes
// of depth of each.
template <class T, int Columns>
struct alignas(tile_alignment) OperandTiles {
  static constexpr int rows = 128, columns = Columns, depth = swizzle_bytes / static_cast<int>(sizeof(T));
  T a[rows * depth];
  T b[columns * depth];
};

// Tiles of rows x columns of a matrix, one after the other in bands of some rows of tiles: those that run at the same
// time read few rows and few columns.
struct TileOrder {
  static constexpr int band = 16;
  int rows, columns;

  KGEN_FN Index<2> operator()(int tile) const {
    const int first = tile / (band * columns) * band, height = rows - first < band ? rows - first : band;
    const int rest = tile - first * columns;
    return {first + rest % height, rest / height};
  }
};

// Sums of 64 rows and N columns in the registers of a warpgroup. BDeep: the lines of b are along its depth, as those of
// a; else along its columns, 64 to a box.
template <class T, int N, bool BDeep>
struct WarpgroupProduct {
  static constexpr int depth = swizzle_bytes / static_cast<int>(sizeof(T)), step = 32 / static_cast<int>(sizeof(T));
  static constexpr int lines_of_8 = 8 * swizzle_bytes;

  // Begins sums += a * b, for one stage's depth; without `adds` sums = a * b.
  KGEN_FN static void multiply(float (&sums)[N / 2], const T* a, const T* b, bool adds) {
    KGEN_UNROLL
    for (int k = 0; k < depth; k += step) {
      const T* right = BDeep ? b + k : b + k * depth;
      const int leading = BDeep ? 16 : depth * swizzle_bytes;
      wgmma<T, N, !BDeep>(sums, descriptor(a + k, 16, lines_of_8), descriptor(right, leading, lines_of_8),
                          adds || k > 0);
    }
  }
};

// The 4 lanes of a quad have each 2 neighbours in 4 groups of 8 columns, lanes[2 * group + i]: afterwards lane i has
// all of group i.
KGEN_FN void gather_columns(float (&lanes)[8]) {
  const int lane = thread_index() % 4;
  KGEN_UNROLL
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool upper = (lane & bit) != 0;
    KGEN_UNROLL
    for (int group = 0; group < 4; ++group) {
      if ((group & bit) != 0) continue;
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        float &low = lanes[2 * group + i], &high = lanes[2 * (group + bit) + i];
        const float sent = upper ? low : high;
        const float got =
            std::bit_cast<float>(shuffle_xor(std::bit_cast<std::uint32_t>(sent), bit, wave_size, Where::here()));
        low = upper ? got : low;
        high = upper ? high : got;
      }
    }
  }
}

// lanes[lane], of lanes that stay in registers.
KGEN_FN float chosen(const float (&lanes)[8], int lane) {
  float result = lanes[0];
  KGEN_UNROLL
  for (int i = 1; i < 8; ++i) result = lane == i ? lanes[i] : result;
  return result;
}

// Gives the sink what a warpgroup has of `Count` products, whose first elements stand at `origin`, as far as `extents`.
// Whole: the columns end with a group of 8.
template <bool Whole, int N, int Count, class C, int... I>
KGEN_FN void emit_sums(const float (&sums)[Count][N / 2], const C& c, Index<2> origin, Index<2> extents,
                       std::integer_sequence<int, I...>) {
  constexpr int groups = 4, lanes_each = 8;
  const int thread = thread_index() % warpgroup_threads;
  const std::int64_t row = origin[0] + thread / wave_size * 16 + thread % wave_size / 4;
  KGEN_UNROLL
  for (int half = 0; half < 2; ++half) {
    KGEN_UNROLL
    for (int n = 0; n < N; n += groups * lanes_each) {
      float lanes[Count][lanes_each];
      KGEN_UNROLL
      for (int product = 0; product < Count; ++product) {
        KGEN_UNROLL
        for (int i = 0; i < lanes_each; ++i) {
          lanes[product][i] = sums[product][(n / lanes_each + i / 2) * 4 + half * 2 + i % 2];
        }
        gather_columns(lanes[product]);
      }
      const Index<2> at{row + half * 8, origin[1] + n + thread % groups * lanes_each};
      if (at[0] >= extents[0] || at[1] >= extents[1]) continue;
      if (Whole || at[1] + lanes_each <= extents[1]) {
        store_to(c, at, load_lanes<lanes_each>(lanes[I])...);
      } else {
        KGEN_NO_UNROLL
        for (int lane = 0; at[1] + lane < extents[1]; ++lane) {
          store_to(c, Index<2>{at[0], at[1] + lane}, Vec<float, 1>(chosen(lanes[I], lane))...);
        }
      }
    }
  }
}

// ---- the kernel

// Of `Count` products.
template <int Count>
struct WarpgroupMatmulShape {
  std::int64_t M, K, N[Count];
  int tiles;     // of all products
  bool vectors;  // all Views of the sinks have vectors of 8 lanes, nothing is in place, and all N are multiples of 8

  template <int Columns>
  KGEN_FN TileOrder order(int first, int together) const {
    const int columns = Columns / together;
    return {static_cast<int>((M + 127) / 128), static_cast<int>((N[first] + columns - 1) / columns)};
  }
  KGEN_FN int steps(int depth) const { return static_cast<int>((K + depth - 1) / depth); }
};

template <int Count>
struct OperandMaps {
  TensorMap a, b[Count];
};

// body.operator()<First, Count>(sink, place) for each tile of this block, in order: it is of the products First to
// First + Count, which `sink` takes together, in place place[0] of its rows and place[1] of its columns of tiles.
template <int Columns, int Products, class C, class Body>
KGEN_FN void for_each_tile(const C& c, const WarpgroupMatmulShape<Products>& shape, const Body& body) {
  for (int tile = static_cast<int>(block_index()); tile < shape.tiles; tile += static_cast<int>(block_count())) {
    int rest = tile;
    for_each_sink<Products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
      const TileOrder order = shape.template order<Columns>(First, Count);
      const int own = order.rows * order.columns;
      if (rest >= 0 && rest < own) body.template operator()<First, Count>(sink, order(rest));
      rest -= own;
    });
  }
}

// Two warpgroups multiply, the first has their operands brought.
inline constexpr int multiplying_warpgroups = 2;
inline constexpr int matmul_threads = (1 + multiplying_warpgroups) * warpgroup_threads;

template <class T, int Columns, bool BDeep>
struct WarpgroupMatmul {
  using Tiles = OperandTiles<T, Columns>;
  static constexpr int depth = Tiles::depth, stages = Columns == 256 ? 4 : 6;
  using Pipeline = TilePipeline<Tiles, stages>;

  // One thread: fills stage after stage of all tiles of its block.
  template <int Products, class C>
  KGEN_FN static void load(Pipeline& pipeline, const OperandMaps<Products>& maps, const C& c,
                           const WarpgroupMatmulShape<Products>& shape) {
    for_each_tile<Columns>(c, shape, [&]<int First, int Count>(const auto&, Index<2> place) KGEN_LAMBDA {
      constexpr int columns = Columns / Count, box = BDeep ? columns : depth;
      const int row = static_cast<int>(place[0]) * Tiles::rows, column = static_cast<int>(place[1]) * columns;
      for (int k = 0; k < shape.steps(depth); ++k) {
        const auto stage = pipeline.fill();
        copy_tile(stage->a, maps.a, stage.arrival(), k * depth, row);
        KGEN_UNROLL
        for (int n = 0; n < Columns; n += box) {
          const int at = column + n % columns;
          copy_tile(stage->b + n * depth, maps.b[First + n / columns], stage.arrival(), BDeep ? k * depth : at,
                    BDeep ? at : k * depth);
        }
      }
    });
  }

  // A warpgroup: multiplies half of the rows of each tile, and gives the sums to its sink.
  template <int Products, class C>
  KGEN_FN static void multiply(Pipeline& pipeline, const C& c, const WarpgroupMatmulShape<Products>& shape) {
    const int first_row = (thread_index() / warpgroup_threads - 1) * 64;
    for_each_tile<Columns>(c, shape, [&]<int First, int Count>(const auto& sink, Index<2> place) KGEN_LAMBDA {
      constexpr int columns = Columns / Count;
      using Product = WarpgroupProduct<T, columns, BDeep>;
      float sums[Count][columns / 2];
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
      const Index<2> origin{place[0] * Tiles::rows + first_row, place[1] * columns}, extents{shape.M, shape.N[First]};
      constexpr std::make_integer_sequence<int, Count> products;
      if (shape.vectors) {
        emit_sums<true, columns>(sums, known<Lanes::constant_vectors>(sink), origin, extents, products);
      } else {
        emit_sums<false, columns>(sums, sink, origin, extents, products);
      }
    });
  }
};

template <class T, int Columns, bool BDeep, int Products, class C>
KGEN_GLOBAL(has_warpgroups ? matmul_threads : 1, 1)
warpgroup_matmul_kernel(const KGEN_GRID_CONSTANT OperandMaps<Products> maps, C c,
                        WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    using Matmul = WarpgroupMatmul<T, Columns, BDeep>;
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, multiplying_warpgroups * warpgroup_threads / wave_size);
    take_turn();
    if (thread_index() < warpgroup_threads) {
      hold_registers<40, RegisterShare::less>();
      if (thread_index() == 0) Matmul::load(pipeline, maps, c, shape);
    } else {
      hold_registers<232, RegisterShare::more>();
      Matmul::multiply(pipeline, c, shape);
    }
  }
}

// ---- launches

// The matrix whose lines are along axis 1 of the View, or with `across` along axis 0; nothing where the copy engine
// does not take it: lines are neighbours in memory, and begin at multiples of 16 bytes.
template <class T>
std::optional<MatrixInMemory> matrix_in_memory(const View<T, 2>& view, bool across, int box_columns, int box_rows) {
  const int line = across ? 0 : 1, other = 1 - line;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t columns = view.extent(line), rows = view.extent(other);
  const std::int64_t pitch = rows > 1 ? view.stride(other) * size : (columns * size + 15) / 16 * 16;
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 512;  // coordinates are of 32 bits
  const bool fits = (columns == 1 || view.stride(line) == 1) && pitch >= columns * size && pitch % 16 == 0 &&
                    pitch < std::int64_t{1} << 40 && columns < most && rows < most &&
                    reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0;
  if (!fits) return std::nullopt;
  return MatrixInMemory{view.data(), columns, rows, pitch, box_columns, box_rows};
}

namespace detail {
template <class T, class S>
inline constexpr bool is_matrix_of = false;
template <class T, class E>
inline constexpr bool is_matrix_of<T, View<E, 2>> = std::is_same_v<std::remove_const_t<E>, T>;
template <class T, class... S>
inline constexpr bool is_matrix_of<T, Several<S...>> = (is_matrix_of<T, S> && ...);

// Whether all that a sink reads and writes has vectors, and nothing that it reads is what it writes.
template <class C>
bool has_vectors_of_8(const C& c) {
  bool all = !is_in_place(c);
  for_each_view(c, [&](const auto& view) { all = all && has_vectors(view, 8); });
  return all;
}
}  // namespace detail

// Whether operands and sinks of these types may be multiplied so.
template <class A, class B, class C>
inline constexpr bool has_warpgroup_matmul = ((detail::is_matrix_of<bf16, A> && detail::is_matrix_of<bf16, B>) ||
                                              (detail::is_matrix_of<f16, A> && detail::is_matrix_of<f16, B>)) &&
                                             most_together<C, several_count<B>> <= 2;

template <class T, int Columns, bool BDeep, class A, class B, class C>
bool launch_warpgroup_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                             Stream stream) {
  using Matmul = WarpgroupMatmul<T, Columns, BDeep>;
  constexpr int products = several_count<B>;
  const auto kernel = warpgroup_matmul_kernel<T, Columns, BDeep, products, C>;
  const DeviceLimits limits = device_limits(stream);
  if (limits.shared_bytes < Matmul::Pipeline::shared()) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), matmul_threads)) return false;
  std::optional<MatrixInMemory> left = matrix_in_memory(a, false, Matmul::depth, Matmul::Tiles::rows);
  if (!left) return false;
  OperandMaps<products> maps;
  maps.a = tensor_map<T>(*left, stream);
  bool all = true;
  for_each_sink<products>(c, [&]<int First, int Count>(const auto&) {
    const auto describe = [&](const auto& each, TensorMap& map) {
      const int columns = BDeep ? Columns / Count : Matmul::depth;
      const auto matrix = matrix_in_memory(each, BDeep, Matmul::depth, columns);
      all = all && matrix.has_value();
      if (matrix) map = tensor_map<T>(*matrix, stream);
    };
    describe(nth<First>(b), maps.b[First]);
    if constexpr (Count == 2) describe(nth<First + 1>(b), maps.b[First + 1]);
    const TileOrder order = shape.template order<Columns>(First, Count);
    shape.tiles += order.rows * order.columns;
  });
  if (!all) return false;
  const Grid grid{"warpgroup_matmul", std::min(shape.tiles, limits.multiprocessors), matmul_threads,
                  Matmul::Pipeline::shared()};
  launch_early(grid, stream, kernel, maps, with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  return true;
}

// c = a * b for each of b, where device, compiler and the operands' layouts allow: false where they do not.
template <class T, class A, class B, class C>
bool warpgroup_matmul(const A& a, const B& b, const C& c, Stream stream) {
  constexpr int products = several_count<B>;
  WarpgroupMatmulShape<products> shape{a.shape()[0], a.shape()[1], {}, 0, detail::has_vectors_of_8(c)};
  if (shape.M == 0 || shape.K == 0) return false;
  int product = 0;
  std::int64_t columns = 0;
  bool deep = true, wide = true;
  for_each_of(b, [&](const auto& each) {
    const std::int64_t N = shape.N[product++] = each.extent(1);
    shape.vectors = shape.vectors && N % 8 == 0;
    columns += (N + 255) / 256;
    deep = deep && (each.stride(0) == 1 || shape.K == 1) && N > 0;
    wide = wide && (each.stride(1) == 1 || N == 1) && N > 0;
  });
  if (!deep && !wide) return false;
  // Wider tiles read each element fewer times; where they leave multiprocessors idle, narrower ones take less time.
  const std::int64_t multiprocessors = device_limits(stream).multiprocessors, rows = (shape.M + 127) / 128;
  const auto waves = [&](std::int64_t tiles) { return (tiles + multiprocessors - 1) / multiprocessors; };
  if (rows * columns > 1 << 24) return false;
  const bool narrow = 11 * waves(rows * columns * 2) < 20 * waves(rows * columns);
  if (wide) {
    return narrow ? launch_warpgroup_matmul<T, 128, false>(a, b, c, shape, stream)
                  : launch_warpgroup_matmul<T, 256, false>(a, b, c, shape, stream);
  }
  return narrow ? launch_warpgroup_matmul<T, 128, true>(a, b, c, shape, stream)
                : launch_warpgroup_matmul<T, 256, true>(a, b, c, shape, stream);
}

}  // namespace kgen::gpu

#endif
