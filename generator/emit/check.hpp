// Check mode: for every stub a function that also runs its unfused reference, operator by operator, and compares. Where
// a stub differs, another one looks for the operator that does.
#pragma once

#include <string>
#include <vector>

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// The name of that function: what the wrapper calls instead of the stub.
std::string checked_name(const StubUse& use);

// The stubs that check mode also looks into: those that name values on the way to what they store. `plan.check` is set,
// here and below.
std::vector<std::string> observed_stubs(const Plan& plan, const Target& target);

SourceFile emit_check_header(const Plan& plan, const EmitOptions& options);  // check.hpp
SourceFile emit_check_source(const Plan& plan, const EmitOptions& options);  // check.cpp

}  // namespace kgen
