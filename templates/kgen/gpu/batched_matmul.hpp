// Products of batches of matrices on a GPU: by its tensor cores where operands and device allow
// (warpgroup_batched_matmul.hpp, wave_batched_matmul.hpp); else the tiles of all products, as matmul.hpp computes them,
// are blocks of one launch.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/gpu/matmul.hpp"
#include "kgen/gpu/warpgroup_batched_matmul.hpp"
#include "kgen/gpu/wave_batched_matmul.hpp"

namespace kgen::gpu {

// Of a batch with `Axes` axes.
template <int Axes>
struct BatchedMatmulShape {
  Index<Axes> batch;
  MatmulShape<1> product;
  std::int64_t tiles;  // of one product
};

template <class T, int Axes, class A, class B, class C>
KGEN_GLOBAL(MatmulTile::threads, 2)
batched_matmul_kernel(A a, B b, C c, BatchedMatmulShape<Axes> shape, std::int64_t tiles) {
  take_turn();
  SharedMemory shared;
  T* staged = shared.take<T>(2 * MatmulTile::staged<T>());
  const std::int64_t M = shape.product.M, K = shape.product.K, N = shape.product.N[0];
  const Index<source_rank<A>> a_extents = a.shape();
  const Index<source_rank<B>> b_extents = b.shape();
  for (std::int64_t tile = block_index(); tile < tiles; tile += block_count()) {
    const auto at = unflatten(tile / shape.tiles, shape.batch);
    const auto left = matrix_of(a, matrix_start(at, a_extents), Index<2>{M, K});
    const auto right = matrix_of(b, matrix_start(at, b_extents), Index<2>{K, N});
    const auto result = matrix_of(c, join(at, Index<2>{}), Index<2>{M, N});
    compute_tile<T, 0, 1>(left, right, result, shape.product, tile % shape.tiles, staged,
                          std::make_integer_sequence<int, 1>{});
  }
}

// The tiles that a caller chooses are the CPU's.
template <int, int, int LeastBits, class Known = KnownProduct<>, class A, class B, class C>
void batched_matmul(const A& a, const B& b, const C& c, Stream stream) {
  using T = source_lane_t<A, source_rank<A>>;
#if defined(KGEN_WARPGROUPS)
  // What warpgroups leave of such products has none, or 2^23 matrices and more: no kernels for these.
  constexpr bool is_done = Known::is_in_vectors && has_warpgroup_batched_matmul<LeastBits, A, B>;
  if constexpr (has_warpgroup_batched_matmul<LeastBits, A, B>) {
    if (warpgroup_batched_matmul<Known>(a, b, c, stream)) return;
  }
#else
  constexpr bool is_done = false;
#endif
  if constexpr (has_wave_matmul<A, B, C> && !is_done) {
    if (wave_batched_matmul<wave_element_t<A, B>>(a, b, c, stream)) return;
  }
  constexpr int axes = product_rank<A, B> - 2;
  const Index<source_rank<A>> a_extents = a.shape();
  const Index<source_rank<B>> b_extents = b.shape();
  const Index<2> left = last_axes<2>(a_extents), right = last_axes<2>(b_extents);
  BatchedMatmulShape<axes> shape{batch_extents(a_extents, b_extents),
                                 {left[0], left[1], {right[1]}, runs_along_rows(a), {runs_along_rows(b)}},
                                 0};
  shape.tiles = shape.product.template tiles<T>(0, 1);
  const std::int64_t tiles = element_count(shape.batch) * shape.tiles;
  if (tiles == 0) return;
  const Grid grid{"batched_matmul", blocks_for(tiles, MatmulTile::threads), MatmulTile::threads,
                  shared_bytes<T>(2 * MatmulTile::staged<T>())};
  const auto seen = [](const auto& object) { return with_access(object, MatmulTile::lanes); };
  launch_early(grid, stream, batched_matmul_kernel<T, axes, A, B, C>, seen(a), seen(b), seen(c), shape, tiles);
}

}  // namespace kgen::gpu
