// Matrix multiplication on a GPU: by the vendor's library where a call asks for that (cuda/library_matmul.hpp); by
// Hopper's warpgroups where operands and device allow (tensor_core_matmul.hpp, and with prologues
// streamed_matmul.hpp); else of bf16, f16 and what these hold by the matrix cores that other devices have
// as well, with any prologues (wave_matmul.hpp); else, right for any operands, with one tile of each in shared memory
// at a time. The tiles of several products are blocks of one launch; where a sink takes several jointly, a block
// computes the same tile of each.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/row_state.hpp"
#include "kgen/gpu/statistics_matmul.hpp"
#include "kgen/gpu/tensor_core_matmul.hpp"
#include "kgen/gpu/unpacked_matmul.hpp"
#include "kgen/gpu/wave_matmul.hpp"
#include "kgen/known_product.hpp"
#include "kgen/math.hpp"
#include "kgen/several.hpp"

#if defined(KGEN_CUBLASLT)
#include "kgen/cuda/library_matmul.hpp"
#endif

namespace kgen::gpu {

// A block computes edge x edge of a result, from slices of `depth`; a thread 4 x 4 of it. Of several results that it
// computes at once, as many rows less as keep a thread's sums in registers.
struct MatmulTile {
  static constexpr int edge = 64, depth = 16, lanes = 4, threads = edge * edge / (lanes * lanes);
  static constexpr int pitch = edge + 1;  // in shared memory, [depth][edge]: neighbours of both axes in different banks

  // The elements of shared memory that one tile of an operand takes.
  template <class T>
  static constexpr std::int64_t staged() {
    return shared_bytes<T>(depth * pitch) / static_cast<std::int64_t>(sizeof(T));
  }
  // The rows of a thread where a block computes `results` of type T at once.
  template <class T>
  static constexpr int rows(int results) {
    int rows = lanes;
    while (rows > 1 && rows * lanes * results * static_cast<int>(sizeof(T)) > 192) rows /= 2;
    return rows;
  }
  // And those of the block.
  template <class T>
  static constexpr int block_rows(int results) {
    return edge / lanes * rows<T>(results);
  }
};

// Of `Count` products.
template <int Count>
struct MatmulShape {
  std::int64_t M, K;
  std::int64_t N[Count];
  bool a_along_rows, b_along_rows[Count];

  // The tiles of the products from number `first` on that are computed `count` at once.
  template <class T>
  KGEN_FN std::int64_t tiles(int first, int count) const {
    return (M + MatmulTile::block_rows<T>(count) - 1) / MatmulTile::block_rows<T>(count) * column_tiles(first);
  }
  KGEN_FN std::int64_t column_tiles(int product) const {
    return (N[product] + MatmulTile::edge - 1) / MatmulTile::edge;
  }
};

// Reads the tile of a source whose element (0, 0) is at `origin` into shared memory, 0 beyond `extents`. The tile is
// `rows` x `columns`, lanes along its columns; element (i, j) goes to to[i * row_step + j * column_step]. Neighbouring
// threads read neighbouring columns, or rows of a source that runs along them.
template <class T, class S>
KGEN_FN void stage_tile(T* to, const S& source, Index<2> origin, Index<2> extents, int rows, int columns, int row_step,
                        int column_step, bool along_rows) {
  constexpr int lanes = MatmulTile::lanes;
  const int per_line = columns / lanes, pieces = rows * per_line;
  for (int piece = thread_index(); piece < pieces; piece += MatmulTile::threads) {
    const int i = along_rows ? piece % rows : piece / per_line;
    const int j = (along_rows ? piece / rows : piece % per_line) * lanes;
    Index<2> at{origin[0] + i, origin[1] + j};
    T* target = to + i * row_step + j * column_step;
    if (at[0] < extents[0] && at[1] + lanes <= extents[1]) {
      const auto loaded = source.template load<lanes>(at);
      KGEN_UNROLL
      for (int lane = 0; lane < lanes; ++lane) target[lane * column_step] = static_cast<T>(loaded[lane]);
    } else {
      for (int lane = 0; lane < lanes; ++lane, ++at[1]) {
        const bool inside = at[0] < extents[0] && at[1] < extents[1];
        target[lane * column_step] = inside ? static_cast<T>(source.template load<1>(at).data) : T(0);
      }
    }
  }
}

// sums[i][j] += sum over the slice's depth of left[k, i] * right[k, j].
template <class T, int Rows>
KGEN_FN void multiply_slice(const T* left, const T* right, T (&sums)[Rows][MatmulTile::lanes]) {
  constexpr int lanes = MatmulTile::lanes;
  for (int k = 0; k < MatmulTile::depth; ++k) {
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Vec<T, 1> row(left[k * MatmulTile::pitch + i]);
      KGEN_UNROLL
      for (int j = 0; j < lanes; ++j) {
        sums[i][j] = multiply_add(row, Vec<T, 1>(right[k * MatmulTile::pitch + j]), Vec<T, 1>(sums[i][j])).data;
      }
    }
  }
}

// Row `row` of sums that stay in registers.
template <class T, int Rows, int Width>
KGEN_FN void choose_row(T (&chosen)[Width], const T (&sums)[Rows][Width], int row) {
  KGEN_UNROLL
  for (int i = 0; i < Rows; ++i) {
    KGEN_UNROLL
    for (int lane = 0; lane < Width; ++lane) chosen[lane] = i == 0 || i == row ? sums[i][lane] : chosen[lane];
  }
}

// Lanes from `at` of each product, as far as the results go: up to `extents`.
template <class T, class C, class... Lanes>
KGEN_FN void emit_lanes(const C& c, Index<2> at, Index<2> extents, const Lanes&... lanes) {
  if (at[0] >= extents[0]) return;
  if constexpr (view_count<C> <= 4) {
    if (at[1] + MatmulTile::lanes <= extents[1]) return store_to(c, at, load_lanes<MatmulTile::lanes>(lanes)...);
  }
  KGEN_NO_UNROLL  // a sink may be long: such a one has no other form
      for (int lane = 0; lane < MatmulTile::lanes && at[1] + lane < extents[1]; ++lane) {
    store_to(c, Index<2>{at[0], at[1] + lane}, Vec<T, 1>(chosen(lanes, lane))...);
  }
}

// Tile number `tile` of the products First to First + Count, in shared memory for one tile of each operand.
template <class T, int First, int Count, class A, class B, class C, class Shape, int... I>
KGEN_FN void compute_tile(const A& a, const B& b, const C& c, const Shape& shape, std::int64_t tile, T* left,
                          std::integer_sequence<int, I...>) {
  constexpr int edge = MatmulTile::edge, depth = MatmulTile::depth, lanes = MatmulTile::lanes;
  constexpr int pitch = MatmulTile::pitch, rows = MatmulTile::rows<T>(Count);
  constexpr int block_rows = MatmulTile::block_rows<T>(Count);
  constexpr std::int64_t staged = MatmulTile::staged<T>();
  T* right = left + staged;
  const std::int64_t columns = shape.column_tiles(First), N = shape.N[First];
  const int row = thread_index() / (edge / lanes) * rows, column = thread_index() % (edge / lanes) * lanes;
  const std::int64_t m = tile / columns * block_rows, n = tile % columns * edge;
  T sums[Count][rows][lanes] = {};
  for (std::int64_t k = 0; k < shape.K; k += depth) {
    {
      const BlockPhase loading;
      stage_tile(left, a, Index<2>{m, k}, Index<2>{shape.M, shape.K}, block_rows, depth, 1, pitch, shape.a_along_rows);
      (stage_tile(right + I * staged, nth<First + I>(b), Index<2>{k, n}, Index<2>{shape.K, N}, depth, edge, pitch, 1,
                  shape.b_along_rows[First + I]),
       ...);
    }
    const BlockPhase multiplying;
    (multiply_slice(left + row, right + I * staged + column, sums[I]), ...);
  }
  KGEN_NO_UNROLL  // a sink may be long, and stands here once for all rows
      for (int i = 0; i < rows; ++i) {
    T lanes_of_row[Count][lanes];
    (choose_row(lanes_of_row[I], sums[I], i), ...);
    emit_lanes<T>(c, Index<2>{m + row + i, n + column}, Index<2>{shape.M, N}, lanes_of_row[I]...);
  }
}

template <class T, class A, class B, class C>
KGEN_GLOBAL(MatmulTile::threads, 2)
matmul_kernel(A a, B b, C c, MatmulShape<several_count<B>> shape, std::int64_t tiles) {
  take_turn();
  SharedMemory shared;
  constexpr int products = several_count<B>;
  T* staged = shared.take<T>((1 + most_together<C, products>)*MatmulTile::staged<T>());
  for (std::int64_t tile = block_index(); tile < tiles; tile += block_count()) {
    std::int64_t rest = tile;
    for_each_sink<products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
      const std::int64_t own = Count == products ? tiles : shape.template tiles<T>(First, Count);
      if (Count == products || (rest >= 0 && rest < own)) {
        compute_tile<T, First, Count>(a, b, sink, shape, rest, staged, std::make_integer_sequence<int, Count>{});
      }
      rest -= own;
    });
  }
}

// True for a View whose neighbours are neighbours along its rows' index, the last axis but one.
template <class S>
bool runs_along_rows(const S& source) {
  if constexpr (is_view<S>) {
    return source.stride(S::rank - 2) == 1 && source.stride(S::rank - 1) != 1;
  } else {
    return false;
  }
}

template <class A, class B, class C>
void plain_matmul(const A& a, const B& b, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  constexpr int products = several_count<B>;
  MatmulShape<products> shape{a.shape()[0], a.shape()[1], {}, runs_along_rows(a), {}};
  int product = 0;
  for_each_of(b, [&](const auto& each) {
    shape.N[product] = each.shape()[1];
    shape.b_along_rows[product++] = runs_along_rows(each);
  });
  std::int64_t tiles = 0;
  for_each_sink<products>(c,
                          [&]<int First, int Count>(const auto&) { tiles += shape.template tiles<T>(First, Count); });
  if (tiles == 0) return;
  const Grid grid{"matmul", blocks_for(tiles, MatmulTile::threads), MatmulTile::threads,
                  shared_bytes<T>((1 + most_together<C, products>)*MatmulTile::staged<T>())};
  const auto seen = [](const auto& object) { return with_access(object, MatmulTile::lanes); };
  launch_early(grid, stream, matmul_kernel<T, A, B, C>, with_each(a, seen), with_each(b, seen), with_each(c, seen),
               shape, tiles);
}

// Whether the library did it.
template <int Library, class A, class B, class C>
bool by_library([[maybe_unused]] const A& a, [[maybe_unused]] const B& b, [[maybe_unused]] const C& c,
                [[maybe_unused]] Stream stream) {
#if defined(KGEN_CUBLASLT)
  if constexpr (Library == 1 && is_library_product<A, B, C>) return library_matmul(a, b, c, stream);
#elif defined(KGEN_CUDA) && !defined(KGEN_NO_CUBLASLT)
  static_assert(Library == 0,
                "a rule of tuning has cuBLASLt do this product: say CUBLASLT to kgen_add_graph, or "
                "-DKGEN_CUBLASLT=ON to CMake, or leave the rule out");
#endif
  return false;
}

// The same with numbers of the rows of c, where the kernel has them at hand: else false, and nothing is done.
template <int LeastBits, int Columns, class Known, class A, class B, class C>
bool matmul_with_statistics([[maybe_unused]] const A& a, [[maybe_unused]] const B& b, [[maybe_unused]] const C& c,
                            [[maybe_unused]] Stream stream) {
#if defined(KGEN_WARPGROUPS)
  return statistics_matmul<LeastBits, Known>(a, b, c, stream, Columns);
#else
  return false;
#endif
}

// TileM and TileN are the CPU's.
template <int TileM, int TileN, int LeastBits, int Degree = 0, int Columns = 0, int Library = 0,
          class Known = KnownProduct<>, class A, class B, class C>
void matmul(const A& a, const B& b, const C& c, Stream stream) {
  if (by_library<Library>(a, b, c, stream)) return;
  if constexpr (uses_rows<C>) {
    if (a.shape()[0] == 0) return;
    with_row_states(c, stream, [&](const auto& known, Stream rest) {
      matmul<TileM, TileN, LeastBits, Degree, Columns, Library, Known>(a, b, known, rest);
    });
  } else {
#if defined(KGEN_WARPGROUPS)
    if constexpr (has_warpgroup_matmul<LeastBits, A, B, C>) {
      if (tensor_core_matmul<std::remove_const_t<typename A::element_type>, Known>(a, b, c, stream, Columns)) return;
    } else if constexpr (has_streamed_matmul<A, B, C>) {
      using Left = std::remove_const_t<typename A::element_type>;
      if (streamed_matmul<Left, Degree>(a, b, c, stream) || unpacked_matmul<Left, Known>(a, b, c, stream)) return;
    } else if constexpr (has_float_matmul<A, B, C>) {
      if (float_matmul(a, b, c, stream)) return;
    }
    // What warpgroups leave of such a product has too many elements for waves, too, or none.
    constexpr bool is_done = Known::is_in_vectors && has_warpgroup_matmul<LeastBits, A, B, C>;
#else
    constexpr bool is_done = false;
#endif
    if constexpr (has_wave_matmul<A, B, C> && !is_done) {
      if (wave_matmul<wave_element_t<A, B>>(a, b, c, stream)) return;
    }
    plain_matmul(a, b, c, stream);
  }
}

}  // namespace kgen::gpu
