// LU factorisation on the CPU: a thread for each matrix.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kgen/cpu/parallel.hpp"
#include "kgen/lu_work.hpp"

namespace kgen::cpu {

// `Step`: of the columns; 1 where the compiler knows it.
template <class T, class Step>
void factor_matrix(const PivotedMatrix<T>& matrix, Step step) {
  const std::int64_t size = matrix.size;
  for (std::int64_t k = 0; k < size; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < size; ++i) {
      if (matrix.magnitude(i, k) > matrix.magnitude(pivot, k)) pivot = i;
    }
    matrix.pivots[k * matrix.pivot_step] = pivot;
    for (std::int64_t j = 0; pivot != k && j < size; ++j) matrix.swap(k, pivot, j);
    const T* const top = &matrix.at(k, 0);
    const T divisor = matrix.at(k, k);
    if (divisor == T(0)) continue;  // nothing below it either
    for (std::int64_t i = k + 1; i < size; ++i) {
      T* const row = &matrix.at(i, 0);
      const T times = row[k * step] / divisor;
      row[k * step] = times;
      for (std::int64_t j = k + 1; j < size; ++j) row[j * step] -= times * top[j * step];
    }
  }
}

template <class T, int R>
void factor_matrices(const LuWork<T, R>& work, Stream stream) {
  const std::int64_t count = work.count(), size = work.size();
  const std::int64_t wanted = threads_for(stream, count * size * size * size);
  parallel(static_cast<int>(std::min(wanted, count)), [&](Team team) {
    const Range part = team.part(count);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const PivotedMatrix<T> matrix = work.matrix(i);
      if (matrix.column_step == 1) {
        factor_matrix(matrix, std::integral_constant<std::int64_t, 1>{});
      } else {
        factor_matrix(matrix, matrix.column_step);
      }
    }
  });
}

}  // namespace kgen::cpu
