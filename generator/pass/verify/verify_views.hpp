// Verifies, without a line of the code that laid values out, that every stub can walk its memory as it lies: for a
// handful of bindings of the dims, the strides of each value follow from the placements, and
//   - each view is one that shows what it stands for without a copy,
//   - the axes that a stub walks as one, in what it reads and in what it writes, follow each other,
//   - what a kernel calls with its positions sees all memory by the same extents, broadcast to a shape that it
//   computes,
//   - what is written through a view lies where the view shows it,
//   - what is passed to a function, or made by one, is dense.
// View::merge and View::reshape take that for granted: without it, elements are read and written elsewhere.
#pragma once

#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Reports internal errors, as verify does. Steps know their stubs, which are in `stubs`.
void verify_views(const FunctionPlan& plan, const std::vector<StubProgram>& stubs, Diagnostics& diagnostics);

}  // namespace kgen
