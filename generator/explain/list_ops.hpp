// The operators as people look them up: `kgen ops`.
#pragma once

#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// One line each, by kind.
std::string list_ops(const OpSet& ops);
// Operands, results, attributes, kernel or expansion, and where it is defined. Reports an unknown name.
std::string describe_op(const OpSet& ops, const std::string& name, Diagnostics& diagnostics);

}  // namespace kgen
