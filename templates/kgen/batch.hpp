// Tensors as batches of matrices, which are their last two axes: each matrix a source or a sink of two axes. Nothing is
// copied.
#pragma once

#include <algorithm>
#include <cassert>

#include "kgen/view.hpp"

namespace kgen {

// How many axes the product of two batches has.
template <class A, class B>
inline constexpr int product_rank = std::max(source_rank<A>, source_rank<B>);

// What the leading axes of two operands broadcast to. Each operand has two axes more.
template <int A, int B>
KGEN_FN constexpr Index<std::max(A, B) - 2> batch_extents(const Index<A>& a, const Index<B>& b) {
  constexpr int axes = std::max(A, B) - 2;
  Index<axes> extents{};
  for (int axis = 0; axis < axes; ++axis) {
    const int in_a = axis - (axes - (A - 2)), in_b = axis - (axes - (B - 2));
    const std::int64_t from_a = in_a < 0 ? 1 : a[in_a], from_b = in_b < 0 ? 1 : b[in_b];
    assert(from_a == from_b || from_a == 1 || from_b == 1);
    extents[axis] = from_a == 1 ? from_b : from_a;
  }
  return extents;
}

// Where the matrix that an operand of these extents gives to position `at` of a batch begins: axes of extent 1, and those
// that are missing, repeat.
template <int Axes, int R>
KGEN_FN constexpr Index<R> matrix_start(const Index<Axes>& at, const Index<R>& extents) {
  static_assert(Axes >= R - 2);
  Index<R> start{};
  for (int axis = 0; axis < R - 2; ++axis) {
    if (extents[axis] != 1) start[axis] = at[Axes - (R - 2) + axis];
  }
  return start;
}

// A matrix of a tensor that is no View.
template <int R, class S>
struct MatrixOf {
  const S& tensor;
  Index<R> start;
  Index<2> extents;

  KGEN_FN Index<2> shape() const { return extents; }
  KGEN_FN Index<R> position(const Index<2>& at) const {
    Index<R> result = start;
    result[R - 2] += at[0];
    result[R - 1] += at[1];
    return result;
  }
  template <int W>
  KGEN_FN auto load(const Index<2>& at) const {
    return tensor.template load<W>(position(at));
  }
  template <class T, int W>
  KGEN_FN void operator()(const Index<2>& at, const Vec<T, W>& lanes) const {
    store_to(tensor, position(at), lanes);
  }
};

// The matrix of these extents that begins at `start`; of a View a View, else one that must not outlive the tensor.
template <int R, class S>
KGEN_FN auto matrix_of(const S& tensor, const Index<R>& start, const Index<2>& extents) {
  if constexpr (is_view<S>) {
    auto* first = tensor.data();
    for (int axis = 0; axis < R; ++axis) first += start[axis] * tensor.stride(axis);
    const View<typename S::element_type, 2> matrix(first, extents, last_axes<2>(tensor.strides()));
#if defined(KGEN_GPU)
    return matrix.with_access(tensor.access());
#else
    return matrix;
#endif
  } else {
    return MatrixOf<R, S>{tensor, start, extents};
  }
}

}  // namespace kgen
