// What an LU factorisation reads and writes, on every target.
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"
#include "kgen/view.hpp"

namespace kgen {

// One matrix in memory, and the rows that changed places.
template <class T>
struct PivotedMatrix {
  T* elements;
  std::int64_t size, row_step, column_step;
  std::int64_t* pivots;
  std::int64_t pivot_step;

  KGEN_FN T& at(std::int64_t row, std::int64_t column) const { return elements[row * row_step + column * column_step]; }
  KGEN_FN T magnitude(std::int64_t row, std::int64_t column) const {
    const T value = at(row, column);
    return value < T(0) ? -value : value;
  }
  KGEN_FN void swap(std::int64_t row, std::int64_t other, std::int64_t column) const {
    const T kept = at(row, column);
    at(row, column) = at(other, column);
    at(other, column) = kept;
  }
};

template <class T, int R>
struct LuWork {
  View<T, R> factors;                // [..., N, N]: first the matrices
  View<std::int64_t, R - 1> pivots;  // [..., N]

  KGEN_FN std::int64_t count() const { return element_count(first_axes<R - 2>(factors.shape())); }
  KGEN_FN std::int64_t size() const { return factors.extent(R - 1); }
  KGEN_FN PivotedMatrix<T> matrix(std::int64_t number) const {
    const Index<R - 2> at = unflatten(number, first_axes<R - 2>(factors.shape()));
    std::int64_t first = 0, first_pivot = 0;
    KGEN_UNROLL
    for (int axis = 0; axis < R - 2; ++axis) {
      first += at[axis] * factors.stride(axis);
      first_pivot += at[axis] * pivots.stride(axis);
    }
    return {factors.data() + first, size(), factors.stride(R - 2), factors.stride(R - 1), pivots.data() + first_pivot,
            pivots.stride(R - 2)};
  }
};

}  // namespace kgen
