// The operators as people look them up: `kgen ops`.
#pragma once

#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// One line each, by kind.
std::string list_ops(const OpSet& ops);
// Operands, results, attributes, kernels, expansions and prepared forms, each with whether it is ever used for the
// target, and where it is defined. Reports an unknown name.
std::string describe_op(const OpSet& ops, const std::string& name, TargetKind target, Diagnostics& diagnostics);

}  // namespace kgen
