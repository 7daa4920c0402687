// Triangles of matrices.
#pragma once

#include <algorithm>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// A source with 0 on one side of a diagonal of its last two axes.
template <int R, class X>
struct Triangle {
  using Lane = source_lane_t<X, R>;
  X x;
  std::int64_t diagonal;  // the column at which it meets row 0
  bool upper;

  template <int W>
  KGEN_FN Vec<Lane, W> load(Index<R> at) const {
    // The row's lower side ends, and its upper side begins, in front of this lane.
    const std::int64_t border = at[R - 2] + diagonal + (upper ? 0 : 1) - at[R - 1];
    if (upper ? border >= W : border <= 0) return Vec<Lane, W>(Lane(0));
    const Vec<Lane, W> lanes = x.template load<W>(at);
    if (upper ? border <= 0 : border >= W) return lanes;
    Lane elements[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) elements[i] = (i < border) != upper ? lanes[i] : Lane(0);
    return load_lanes<W>(elements);
  }
};

// The upper or the lower triangle of each matrix of x, which are its last two axes, with the diagonal that begins at
// column `diagonal` of row 0, below row 0 where that is negative; 0 elsewhere, where a prologue is not evaluated for
// most elements.
template <AnySource X, SinkLike<X> Out>
KGEN_KERNEL(trilu)
void trilu(const X& x, std::int64_t diagonal, bool upper, const Out& out, Stream stream = {})
requires(source_rank<X> >= 2)
{
  constexpr int R = source_rank<X>;
  const Index<R> shape = x.shape();
  const std::int64_t reached = std::clamp(diagonal, -shape[R - 2], shape[R - 1]);
  copy(shape, Triangle<R, X>{x, reached, upper}, out, stream);
}

}  // namespace kgen
