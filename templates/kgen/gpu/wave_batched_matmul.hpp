// Products of batches of matrices on matrix cores that each wave uses alone: the tiles of all products, as
// wave_matmul.hpp computes them, are blocks of one launch.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/gpu/line_tile_io.hpp"
#include "kgen/gpu/wave_matmul.hpp"

namespace kgen::gpu {

// Of a batch with `Axes` axes.
template <int Axes>
struct WaveBatchShape {
  Index<Axes> batch;
  WaveMatmulShape<1> product;
};

// A matrix of a result, as a sink that may be copied.
template <class S, int R>
struct MatrixSink {
  S tensor;
  Index<R> start;

  template <int W>
  KGEN_FN void operator()(const Index<2>& at, const Vec<float, W>& lanes) const {
    Index<R> position = start;
    position[R - 2] += at[0];
    position[R - 1] += at[1];
    store_to(tensor, position, lanes);
  }
};

template <class Tile, class Op, class T, bool BDeep, int Axes, class A, class B, class C>
KGEN_GLOBAL((runs_waves<T, A, B, Tile> ? Tile::threads : 1), Tile::blocks)
wave_batched_matmul_kernel(A a, B b, C c, WaveBatchShape<Axes> shape) {
  if constexpr (runs_waves<T, A, B, Tile>) {
    take_turn();
    SharedMemory shared;
    auto* stages = shared.take<typename Tile::template Stage<T>>(stages_of<Tile, T, A, B>(shape.product.K));
    const std::int64_t M = shape.product.M, K = shape.product.K, N = shape.product.N[0];
    const std::int64_t each = shape.product.template tiles<1, Tile>(0);
    const std::int64_t tile = block_index();  // a block has one
    const auto at = unflatten(tile / each, shape.batch);
    const auto left = matrix_of(a, matrix_start(at, Index<source_rank<A>>(a.shape())), Index<2>{M, K});
    const auto right =
        matrix_of(b, matrix_start(at, Index<source_rank<B>>(b.shape())), BDeep ? Index<2>{N, K} : Index<2>{K, N});
    const MatrixSink<C, Axes + 2> result{c, join(at, Index<2>{})};
    const Index<2> origin = shape.product.template origin<1, Tile>(0, static_cast<int>(tile % each));
    multiply_tile_of<Op, T, BDeep, 0, 1, true, Tile>(stages, left, right, result, shape.product, origin,
                                                     std::make_integer_sequence<int, 1>{});
  }
}

namespace detail {
// The tiles of all products.
template <class Tile, int Axes>
std::int64_t count_tiles(const WaveBatchShape<Axes>& shape) {
  return element_count(shape.batch) * shape.product.template tiles<1, Tile>(0);
}
template <class Tile, class Op, class T, bool BDeep, int Axes, class A, class B, class C>
bool launch_wave_batched_matmul(const A& a, const B& b, const C& c, const WaveBatchShape<Axes>& shape, Stream stream) {
  const auto kernel = wave_batched_matmul_kernel<Tile, Op, T, BDeep, Axes, A, B, C>;
  const int stages = stages_of<Tile, T, A, B>(shape.product.K);
  const std::int64_t bytes = shared_bytes<typename Tile::template Stage<T>>(stages), tiles = count_tiles<Tile>(shape);
  if (tiles > most_blocks(Tile::threads) || device_limits(stream).shared_bytes < bytes ||
      !runs_threads(reinterpret_cast<const void*>(kernel), Tile::threads, stream)) {
    return false;
  }
  if (tiles == 0) return true;
  const Grid grid{"wave_batched_matmul", tiles, Tile::threads, bytes};
  const auto seen = []<class S>(const S& operand) {
    if constexpr (is_line_batch<S>) {
      return operand;
    } else {
      return with_access(operand, 8);
    }
  };
  launch_early(grid, stream, kernel, seen(a), seen(b), with_access(c, 8), shape);
  return true;
}
}  // namespace detail

// c = a * b for each matrix of the batch: false where device or compiler do not allow it, or where memory does not lie
// in whole vectors.
template <class T, class Op = DeviceTile<T>, class A, class B, class C>
bool wave_batched_matmul(const A& a, const B& b, const C& c, Stream stream) {
  constexpr int axes = product_rank<A, B> - 2;
  const Index<source_rank<A>> a_extents = a.shape();
  const Index<source_rank<B>> b_extents = b.shape();
  const Index<2> left = last_axes<2>(a_extents), right = last_axes<2>(b_extents);
  const WaveBatchShape<axes> shape{batch_extents(a_extents, b_extents),
                                   {left[0], left[1], {right[1]}, emitted_lanes(c), runs_across(a), {runs_across(b)}}};
  const bool deep = has_deep_columns<T>(b);
  if (!lies_in_vectors<T>(a, false) || !lies_in_vectors<T>(b, deep)) return false;
  if constexpr (is_memory_of<T, B>) {
    if (deep) {
      return detail::launch_wave_batched_matmul<WaveMatmulTile, Op, T, true>(a, with_turned_axes(b), c, shape, stream);
    }
  }
  return detail::launch_wave_batched_matmul<WaveMatmulTile, Op, T, false>(a, b, c, shape, stream);
}

}  // namespace kgen::gpu
