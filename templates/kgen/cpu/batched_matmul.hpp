// Products of batches of matrices on the CPU, each as matmul.hpp computes one. Where there are enough of them a thread
// computes products of its own, or rows of them; else all threads share each product.
#pragma once

#include <algorithm>

#include "kgen/batch.hpp"
#include "kgen/cpu/matmul.hpp"

namespace kgen::cpu {

template <int TileM, int TileN, int, class Known = void, class A, class B, class C>
void batched_matmul(const A& a, const B& b, const C& c, Stream stream) {
  const Index<source_rank<A>> a_extents = a.shape();
  const Index<source_rank<B>> b_extents = b.shape();
  const auto batch = batch_extents(a_extents, b_extents);
  const std::int64_t M = last_axes<2>(a_extents)[0], K = last_axes<1>(a_extents)[0], N = last_axes<1>(b_extents)[0];
  const std::int64_t products = element_count(batch);
  if (products == 0 || M == 0 || N == 0) return;

  const auto multiply = [&](std::int64_t product, Range rows, Stream by) {
    const auto at = unflatten(product, batch);
    auto a_start = matrix_start(at, a_extents);
    a_start[source_rank<A> - 2] = rows.begin;
    const std::int64_t count = rows.end - rows.begin;
    matmul<TileM, TileN, 23>(matrix_of(a, a_start, {count, K}), matrix_of(b, matrix_start(at, b_extents), {K, N}),
                             matrix_of(c, join(at, Index<2>{rows.begin, 0}), {count, N}), by);
  };
  const int threads = threads_for(stream, products * std::max(M * N * K / 16, N * K) / 4);
  if (products < threads) {
    for (std::int64_t product = 0; product < products; ++product) multiply(product, {0, M}, stream);
    return;
  }
  // Few products for each thread are cut into rows, so that threads end together; many are taken several at a time.
  const std::int64_t pieces = threads == 1 ? 1 : (4 * threads + products - 1) / products;
  const Tiling rows(M, M, pieces, TileM);
  const std::int64_t count = products * rows.count, step = std::max<std::int64_t>(1, count / (16 * threads));
  parallel_for(threads, (count + step - 1) / step, [&](std::int64_t first) {
    for (std::int64_t i = first * step; i < std::min(count, (first + 1) * step); ++i) {
      multiply(i / rows.count, rows.range(i % rows.count), Stream{1});
    }
  });
}

}  // namespace kgen::cpu
