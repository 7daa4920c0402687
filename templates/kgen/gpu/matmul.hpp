// Matrix multiplication on a GPU: right for any operands, with one tile of each in shared memory at a time.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/math.hpp"

namespace kgen::gpu {

// A block computes edge x edge of the result, from slices of `depth`; a thread 4 x 4 of it.
struct MatmulTile {
  static constexpr int edge = 64, depth = 16, lanes = 4, threads = edge * edge / (lanes * lanes);
  static constexpr int pitch = edge + 1;  // in shared memory, [depth][edge]: neighbours of both axes in different banks
};

struct MatmulShape {
  std::int64_t M, N, K;
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
template <class T>
KGEN_FN void multiply_slice(const T* left, const T* right, T (&sums)[MatmulTile::lanes][MatmulTile::lanes]) {
  constexpr int lanes = MatmulTile::lanes;
  for (int k = 0; k < MatmulTile::depth; ++k) {
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) {
      const Vec<T, 1> row(left[k * MatmulTile::pitch + i]);
      KGEN_UNROLL
      for (int j = 0; j < lanes; ++j) {
        sums[i][j] = multiply_add(row, Vec<T, 1>(right[k * MatmulTile::pitch + j]), Vec<T, 1>(sums[i][j])).data;
      }
    }
  }
}

// `count` lanes from `at`, as far as the result goes.
template <class T, class C>
KGEN_FN void emit_lanes(const C& c, Index<2> at, const T (&lanes)[MatmulTile::lanes], const MatmulShape& shape) {
  if (at[0] >= shape.M) return;
  if (at[1] + MatmulTile::lanes <= shape.N) return store_to(c, at, load_lanes<MatmulTile::lanes>(lanes));
  KGEN_UNROLL
  for (int lane = 0; lane < MatmulTile::lanes; ++lane) {
    if (at[1] + lane < shape.N) store_to(c, Index<2>{at[0], at[1] + lane}, Vec<T, 1>(lanes[lane]));
  }
}

template <class T, class A, class B, class C>
KGEN_GLOBAL(MatmulTile::threads, 2)
matmul_kernel(A a, B b, C c, MatmulShape shape, bool a_along_rows, bool b_along_rows) {
  constexpr int edge = MatmulTile::edge, depth = MatmulTile::depth, lanes = MatmulTile::lanes;
  constexpr int pitch = MatmulTile::pitch;
  take_turn();
  SharedMemory shared;
  T* left = shared.take<T>(depth * pitch);
  T* right = shared.take<T>(depth * pitch);
  const std::int64_t columns = (shape.N + edge - 1) / edge, tiles = (shape.M + edge - 1) / edge * columns;
  const int row = thread_index() / (edge / lanes) * lanes, column = thread_index() % (edge / lanes) * lanes;
  for (std::int64_t tile = block_index(); tile < tiles; tile += block_count()) {
    const std::int64_t m = tile / columns * edge, n = tile % columns * edge;
    T sums[lanes][lanes] = {};
    for (std::int64_t k = 0; k < shape.K; k += depth) {
      {
        const BlockPhase loading;
        stage_tile(left, a, Index<2>{m, k}, Index<2>{shape.M, shape.K}, edge, depth, 1, pitch, a_along_rows);
        stage_tile(right, b, Index<2>{k, n}, Index<2>{shape.K, shape.N}, depth, edge, pitch, 1, b_along_rows);
      }
      const BlockPhase multiplying;
      multiply_slice(left + row, right + column, sums);
    }
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) emit_lanes(c, Index<2>{m + row + i, n + column}, sums[i], shape);
  }
}

// True for a View whose neighbours are neighbours along its rows' index.
template <class S>
bool runs_along_rows(const S& source) {
  if constexpr (is_view<S>) {
    return source.stride(0) == 1 && source.stride(1) != 1;
  } else {
    return false;
  }
}

// The tiles that a caller chooses are the CPU's.
template <int, int, class A, class B, class C>
void matmul(const A& a, const B& b, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  constexpr int edge = MatmulTile::edge, lanes = MatmulTile::lanes;
  const MatmulShape shape{a.shape()[0], b.shape()[1], a.shape()[1]};
  if (shape.M == 0 || shape.N == 0) return;
  const std::int64_t tiles = (shape.M + edge - 1) / edge * ((shape.N + edge - 1) / edge);
  const Grid grid{"matmul", blocks_for(tiles, MatmulTile::threads), MatmulTile::threads,
                  2 * shared_bytes<T>(MatmulTile::depth * MatmulTile::pitch)};
  launch_early(grid, stream, matmul_kernel<T, A, B, C>, with_access(a, lanes), with_access(b, lanes),
               with_access(c, lanes), shape, runs_along_rows(a), runs_along_rows(b));
}

}  // namespace kgen::gpu
