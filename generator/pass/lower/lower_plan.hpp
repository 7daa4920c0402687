// Gives each step of a placed graph its stub.
#pragma once

#include <string>

#include "generator/model/plan.hpp"
#include "generator/pass/lower/lower.hpp"

namespace kgen {

// Adds the stubs to `stubs`, and sets stub, arguments and name of the steps that run them; calls stay as they are.
// `function`: the name of the function that the plan is of, which begins the names of its steps and stubs; empty for
// main.
FunctionPlan lower_plan(FunctionPlan plan, const std::string& function, const OpSet& ops, StubTable& stubs);

}  // namespace kgen
