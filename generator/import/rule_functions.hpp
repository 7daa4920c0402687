// The functions that expressions in rules of import may call: import_functions, each of which is described in
// specs/IMPORT.md.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "generator/import/rule_value.hpp"

namespace kgen {

// Nothing where the arguments are not what the function takes. An argument that is not given makes most results not
// given too: it may stand in the branch that is not taken.
std::optional<RuleValue> call_function(std::string_view name, std::span<const RuleValue> arguments,
                                       const DimRanges& ranges);

}  // namespace kgen
