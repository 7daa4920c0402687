// Check mode: for every stub a function that also runs its unfused reference, operator by operator, and compares.
#pragma once

#include <string>

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// The name of that function: what the wrapper calls instead of the stub.
std::string checked_name(const StubProgram& stub);

// `plan.check` is set.
SourceFile emit_check_header(const Plan& plan, const EmitOptions& options);  // check.hpp
SourceFile emit_check_source(const Plan& plan, const EmitOptions& options);  // check.cpp

}  // namespace kgen
