// The order of a matrix's rows, and where equal ones begin. Elements compare as in a sort: NaN is greater than every
// number and equal to itself, and both zeros are equal.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/platform.hpp"
#include "kgen/selection.hpp"
#include "kgen/view.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/row_order.hpp"
#else
#include "kgen/cpu/row_order.hpp"
#endif
#include "kgen/introspect.hpp"

namespace kgen {

// A source of whether each row differs from the one before it; the first one does.
template <class X>
struct RunStarts {
  X x;

  template <int W>
  KGEN_FN Vec<bool, W> load(Index<1> at) const {
    const std::int64_t width = Index<2>(x.shape())[1];
    bool lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const std::int64_t row = at[0] + i;
      lanes[i] = row == 0 || compare_rows(x, row - 1, row, width) != 0;
    }
    return load_lanes<W>(lanes);
  }
};

// out[i] = true where row i of x differs from row i - 1, and for the first row. A prologue is evaluated twice for each
// element.
template <Source<2> X, Sink<bool, 1> Out>
KGEN_KERNEL(run_starts)
KGEN_EVALUATED(x, "2")
void run_starts(const X& x, const Out& out, Stream stream = {}) requires Number<source_lane_t<X, 2>> {
  copy(Index<1>{Index<2>(x.shape())[0]}, RunStarts<X>{x}, out, stream);
}

// The rows of x in lexicographic order, of equal ones the first first: out[i] is the row that stands at place i. On the
// CPU O(n log n) comparisons by one thread; on a GPU a bitonic network (Batcher 1968) of O(log^2 n) launches.
template <Number T>
KGEN_KERNEL(argsort_rows)
void argsort_rows(const View<const T, 2>& x, const View<std::int64_t, 1>& out, Stream stream = {}) {
  assert(out.extent(0) == x.extent(0));
  target::argsort_rows(x, out, stream);
}

}  // namespace kgen
