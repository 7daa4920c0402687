// The expressions of all operators, parsed as soon as the specifications are loaded: a mistake in one is seen at once,
// and not by whoever uses the operator first.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Definitions, defaults, conditions on sizes and conditions of expansions: each must be an expression, of names that it
// may use. Takes microseconds an operator, so the built-in ones are checked too.
void check_specs(const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
