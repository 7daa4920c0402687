// `updates` of a result.
#pragma once

#include <cstddef>
#include <optional>

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// The operand that the value names, which a result of the operator is an update of. Operands have been read. Errors:
// there is none of that name, nodes may leave it out, or the operator has no kernel that is called.
std::optional<std::size_t> read_updated(Yaml value, const OpSpec& op, Diagnostics& diagnostics);

}  // namespace kgen
