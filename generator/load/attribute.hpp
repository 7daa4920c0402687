// Attributes of operators.
#pragma once

#include <optional>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/load/dim_text.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// The value as the type that `spec` asks for. `what` names it in messages: "'axis'". Errors: not of that type, not
// among the allowed words, and those of expressions.
std::optional<AttributeValue> read_attribute(Yaml value, const AttributeSpec& spec, std::string_view what,
                                             DimScope& dims, Diagnostics& diagnostics);

}  // namespace kgen
