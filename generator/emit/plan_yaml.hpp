// The plan as a file to review: plan.yaml. Everything is named after values, operators and stubs; no numbers of lines,
// nodes or slots stand in it, so that a change of the graph shows where it matters and nowhere else.
#pragma once

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Linear in the size of the plan, with one line for each node, value in memory and decision.
SourceFile emit_plan_yaml(const Plan& plan, const EmitOptions& options);

}  // namespace kgen
