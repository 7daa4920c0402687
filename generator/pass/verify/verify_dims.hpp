// Verifies, without a line of the code that bound them, that a run finds every dim that it needs where the plan says.
#pragma once

#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// What does not hold, in words:
//   - a source gives what it should: an extent is that of the input, a scalar the input that the dim is declared from;
//   - the sizes of inputs, of outputs and of the arena are made of dims that have a source.
std::vector<std::string> dim_problems(const Plan& plan);
// Reports them as internal errors.
void verify_dims(const Plan& plan, Diagnostics& diagnostics);

}  // namespace kgen
