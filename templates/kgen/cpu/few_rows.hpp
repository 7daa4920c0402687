// Products whose left operand has few rows: the right one is multiplied where it lies, and read once.
#pragma once

#include "kgen/cpu/panels.hpp"

namespace kgen::cpu {

// The left operand's few rows, as what they meet likes them.
template <class T>
struct FewRows {
  static constexpr std::int64_t slice = 8;  // values of k that are together in registers

  std::int64_t M, K;
  T* rows;    // row after row, for right operands whose neighbours along k lie together
  T* slices;  // for others: slice after slice of k, of each all rows, one after the other

  std::int64_t row_stride() const {
    return (K / 16 * 2 + 1) * 8 + 8;
  }  // rows not a power of two apart: these share a set
  T* slice_of(std::int64_t k) const { return slices + k * M; }

  template <class A>
  void pack(const A& a, Range depth) const {
    if (depth.begin == depth.end) return;
    for (std::int64_t m = 0; m < M; ++m) {
      const std::int64_t whole = K / slice * slice;
      for_each_of_row<T>(a, m, depth, [&]<int W>(std::int64_t k, const Vec<T, W>& lanes) KGEN_LAMBDA {
        if (rows != nullptr) store_lanes(rows + m * row_stride() + k, lanes);
        for (int i = 0; slices != nullptr && i < W; ++i) {
          const std::int64_t at = k + i, width = at < whole ? slice : 1;
          slices[(at - at % width) * M + m * width + at % width] = lanes[i];
        }
      });
    }
  }
  // sums[m * stride + j] = the element (m, n + j) of the product, for j < count.
  template <class B>
  void multiply(T* sums, std::int64_t stride, const B& b, std::int64_t n, std::int64_t count) const {
    if (is_transposed(b)) {
      if constexpr (is_view<B>) {
        multiply_by_rows(sums, stride, rows, row_stride(), M, K, b.template permute<1, 0>(), n, count);
      }
      return;
    }
    std::fill_n(sums, M * stride, T(0));
    // Of what is computed from memory; lines of more than 1 KB, or what is near, come by themselves.
    Prefetch coming = is_view<B> ? Prefetch() : Prefetch(b, Range{0, K}, Range{n, n + count});
    if (coming.lines() > 16 * K || 64 * coming.lines() <= caches().second) coming = {};
    const std::int64_t fetched = coming.lines() * slice / std::max<std::int64_t>(K, 1) + 1;
    coming.fetch(2 * fetched);
    std::int64_t k = 0;
    for (; k + slice <= K; k += slice) {
      coming.fetch(fetched);
      const T* left = slices + k * M;
      if constexpr (is_view<B>) {
        add_slice<slice>(sums, stride, left, slice, M, b, k, n, count);
      } else {
        T* const lines = scratch<T>(6, slice * stride);
        compute_lines(lines, stride, b, Range{k, k + slice}, Range{n, n + count});
        if (M == 1) {
          add_lines_to_row<slice>(sums, left, lines, stride, count);
        } else {
          const View<const T, 2> computed(lines, Index<2>{slice, count}, Index<2>{stride, 1});
          add_slice<slice>(sums, stride, left, slice, M, computed, 0, 0, count);
        }
      }
    }
    for (; k < K; ++k) add_slice<1>(sums, stride, slices + k * M, 1, M, b, k, n, count);
  }
};

}  // namespace kgen::cpu
