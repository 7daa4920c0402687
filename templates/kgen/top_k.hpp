// The greatest or the least elements of each line, in order.
#pragma once

#include <cassert>

#include "kgen/platform.hpp"
#include "kgen/view.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/top_k.hpp"
#else
#include "kgen/cpu/top_k.hpp"
#endif
#include "kgen/introspect.hpp"

namespace kgen {

// The k greatest elements along an axis, greatest first, and where along it they stand; or (largest: false) the k
// least, least first. Of equal ones the first come first. NaN is greater than every number. The axis counts from the
// last where it is negative. values, indices: the shape of x, with k along the axis. A prologue is evaluated again for
// each element that is chosen. On the CPU O(n + k log k) for a line of n, a thread for each line. On a GPU a block
// selects in shared memory what is at most 1024 of a line in one pass over it, O(n log^2 2048) steps; more than that is
// sorted by a bitonic network over memory, O(n log^2 n), which takes 8 bytes for each element (16 of 64-bit types),
// lines being rounded up to powers of two. Lines of types of 32 bits or fewer have less than 2^32 elements.
template <AnySource X, SinkLike<X> Values, Sink<std::int64_t, source_rank<X>> Indices>
KGEN_KERNEL(top_k, "k >= 0")
void top_k(const X& x, std::int64_t k, std::int64_t axis, bool largest, const Values& values, const Indices& indices,
           Stream stream = {}) requires Number<source_lane_t<X, source_rank<X>>> {
  constexpr int R = source_rank<X>;
  const auto counted = static_cast<int>(axis < 0 ? axis + R : axis);
  assert(counted >= 0 && counted < R);
  const Selection<R> selection = selection_of(Index<R>(x.shape()), counted, k, largest);
  assert(k >= 0 && k <= selection.length);
  if (selection.count == 0 || k == 0) return;
  target::top_k(ChosenResults<X, Values, Indices, R>{x, values, indices, selection}, stream);
}

// The same where only the run knows k, which values and indices have along the axis.
template <AnySource X, int R, Number T>
KGEN_KERNEL(top_k)
void sized_top_k(const X& x, std::int64_t axis, bool largest, const View<T, R>& values,
                 const View<std::int64_t, R>& indices,
                 Stream stream = {}) requires Number<source_lane_t<X, source_rank<X>>> {
  top_k(x, values.shape()[axis < 0 ? axis + R : axis], axis, largest, values, indices, stream);
}

// x with each line along an axis in order: all that top_k would choose.
template <AnySource X, SinkLike<X> Out>
KGEN_KERNEL(sort)
void sort(const X& x, std::int64_t axis, bool descending, const Out& out,
          Stream stream = {}) requires Number<source_lane_t<X, source_rank<X>>> {
  const std::int64_t length = x.shape()[axis < 0 ? axis + source_rank<X> : axis];
  top_k(x, length, axis, descending, out, Unwanted{}, stream);
}

// Where along the axis the elements stand that sort() would put there.
template <AnySource X, Sink<std::int64_t, source_rank<X>> Out>
KGEN_KERNEL(argsort)
void argsort(const X& x, std::int64_t axis, bool descending, const Out& out,
             Stream stream = {}) requires Number<source_lane_t<X, source_rank<X>>> {
  const std::int64_t length = x.shape()[axis < 0 ? axis + source_rank<X> : axis];
  top_k(x, length, axis, descending, Unwanted{}, out, stream);
}

}  // namespace kgen
