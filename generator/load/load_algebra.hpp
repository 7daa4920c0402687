// What a specification says of an operator's axes and of its algebra.
#pragma once

#include <optional>

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// `algebra`. Operands, results and attributes have been read.
void read_algebra(Yaml value, OpSpec& op, Diagnostics& diagnostics);

// `together` of an operand whose `shape` has been read: that axis, counted from the last.
std::optional<int> read_together(Yaml value, const OperandSpec& operand, Diagnostics& diagnostics);

}  // namespace kgen
