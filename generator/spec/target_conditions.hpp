// What specifications and kernels say of some targets alone, once it is known for which one a graph is planned.
#pragma once

#include "generator/model/op_spec.hpp"
#include "generator/model/target.hpp"

namespace kgen {

// Leaves out what can hold at no node there, so that no node asks for it: rules of tuning, and what kernels declare of
// prologues. Of what is left the conditions say the same as before.
void keep_conditions_of(TargetKind target, Architecture architecture, OpSet& ops);

}  // namespace kgen
