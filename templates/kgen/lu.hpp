// Matrices as products of triangular ones.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/lu_work.hpp"
#if defined(KGEN_GPU)
#include "kgen/gpu/lu.hpp"
#else
#include "kgen/cpu/lu.hpp"
#endif
#include "kgen/introspect.hpp"

namespace kgen {

// For each matrix of x, its last two axes, the factors of P x = L U by Gaussian elimination with partial pivoting: U on
// and above the diagonal of `factors`, L below it, whose own diagonal is 1. pivots[..., k]: the row that row k changed
// places with in step k, from the first step on; of rows whose elements are as great the upper one. On the CPU a
// thread, on a GPU a block for each matrix.
template <AnySource X, OneOf<float, double> T, int R, int P>
KGEN_KERNEL(lu_factor)
void lu_factor(const X& x, const View<T, R>& factors, const View<std::int64_t, P>& pivots, Stream stream = {})
requires(P == R - 1 && source_rank<X> == R)
{
  assert(factors.extent(R - 1) == factors.extent(R - 2));
  copy(factors.shape(), x, factors, stream);
  const LuWork<T, R> work{factors, pivots};
  if (element_count(factors.shape()) > 0) target::factor_matrices(work, stream);
}

}  // namespace kgen
