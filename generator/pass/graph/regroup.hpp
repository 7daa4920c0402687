// How a loop lies within the axes that a kernel walks, where the one is a reshape of the other.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/pass/graph/layout.hpp"

namespace kgen {

// Both go over the same elements in row-major order.
struct Regrouping {
  Shape split;            // the loop's shape; an axis of it that spans several of the kernel's is cut as those are
  std::vector<int> runs;  // by axis of the kernel: how many axes of `split` it covers, one after the other
};

// The kernel walks what has the shape `walked` along `rank` axes, the leading ones as one; rank -1: along all of its
// axes. Nothing where an axis of the one reaches across a bound between axes of the other.
std::optional<Regrouping> regroup(const Shape& walked, int rank, const Shape& loop);

// How memory is shown to such a kernel: axes that merge, and what is left of each run.
struct RunWalk {
  std::vector<std::pair<int, int>> merges;  // of axes of `split`, descending
  std::vector<int> runs;                    // by axis of the kernel, how many are left; empty: one of each
};
// `strides`: of the memory along `split`.
RunWalk walk_runs(const Regrouping& regrouping, const Strides& strides);

// The strides of what has the shape `own`, broadcast to `loop`, along `split`. Nothing where it cannot be so shown.
std::optional<Strides> strides_along(const Regrouping& regrouping, const Shape& own, const Strides& strides,
                                     const Shape& loop);

}  // namespace kgen
