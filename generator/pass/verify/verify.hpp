// Verifies placements without a line of the code that made them. First what holds for all sizes: every value has the
// kind of memory that its node asks for, and every group runs once. Then, for a handful of bindings of the dims (the
// lowest, the highest and some between), the slots are laid out, the steps are walked, and each step must
//   - read only values that are written, whole, and not overwritten since,
//   - write within its slot, and over nothing that it reads itself, but for the rule "in place" of place.hpp.
#pragma once

#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Reports internal errors: what is found is a fault of the planner and not of the graph. Looks at groups, placements
// and slots, and not at stubs. Linear in the size of the graph for each binding.
void verify(const FunctionPlan& plan, const std::vector<FunctionPlan>& functions, Diagnostics& diagnostics);

}  // namespace kgen
