// LU factorisation on a GPU: a block for each matrix. The threads look for a pivot together, and each takes some of the
// elements that a step changes.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/lu_work.hpp"

namespace kgen::gpu {

inline constexpr int most_lu_threads = 256;

// What a thread found among rows of its own.
template <class T>
struct PivotFound {
  T magnitude;
  std::int64_t row;

  KGEN_FN void take(const PivotFound& other) {
    const bool is_better = other.magnitude > magnitude || (other.magnitude == magnitude && other.row < row);
    if (is_better) *this = other;
  }
};

// The row from k on with the greatest element of column k. All threads meet here, and again before the next search.
template <class T>
KGEN_FN std::int64_t find_pivot(const PivotedMatrix<T>& matrix, std::int64_t k, PivotFound<T>* found) {
  {
    const BlockPhase searching;
    PivotFound<T> best{T(-1), k};
    for (std::int64_t i = k + thread_index(); i < matrix.size; i += block_threads()) {
      best.take({matrix.magnitude(i, k), i});
    }
    found[thread_index()] = best;
  }
  PivotFound<T> best = found[0];
  for (std::int64_t i = 1; i < block_threads() && i < matrix.size - k; ++i) best.take(found[i]);
  return best.row;
}

// The step of row k, whose pivot stands in its place.
template <class T>
KGEN_FN void eliminate(const PivotedMatrix<T>& matrix, std::int64_t k) {
  const std::int64_t left = matrix.size - k - 1;
  const T divisor = matrix.at(k, k);
  if (divisor == T(0)) return;  // nothing below it either
  {
    const BlockPhase dividing;
    for (std::int64_t i = thread_index(); i < left; i += block_threads()) matrix.at(k + 1 + i, k) /= divisor;
  }
  const BlockPhase subtracting;
  for (std::int64_t i = thread_index(); i < left * left; i += block_threads()) {
    const std::int64_t row = k + 1 + i / left, column = k + 1 + i % left;
    matrix.at(row, column) -= matrix.at(row, k) * matrix.at(k, column);
  }
}

template <class T, int R>
KGEN_GLOBAL(most_lu_threads, 4)
lu_kernel(LuWork<T, R> work) {
  take_turn();
  SharedMemory shared;
  auto* const found = shared.take<PivotFound<T>>(block_threads());
  for (std::int64_t number = block_index(); number < work.count(); number += block_count()) {
    const PivotedMatrix<T> matrix = work.matrix(number);
    for (std::int64_t k = 0; k < matrix.size; ++k) {
      const std::int64_t pivot = find_pivot(matrix, k, found);
      {
        const BlockPhase swapping;
        if (thread_index() == 0) matrix.pivots[k * matrix.pivot_step] = pivot;
        for (std::int64_t j = thread_index(); pivot != k && j < matrix.size; j += block_threads()) {
          matrix.swap(k, pivot, j);
        }
      }
      eliminate(matrix, k);
    }
  }
}

template <class T, int R>
void factor_matrices(const LuWork<T, R>& work, Stream stream) {
  const std::int64_t size = work.size();
  const int threads = size * size <= wave_size ? wave_size : size * size <= 128 ? 128 : most_lu_threads;
  const Grid grid{"lu", blocks_for(work.count(), threads), threads, shared_bytes<PivotFound<T>>(threads)};
  launch_early(grid, stream, lu_kernel<T, R>, work);
}

}  // namespace kgen::gpu
