#pragma once

#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Adds to a message about a name that no operator has: which operators do what other libraries call so, or which names
// are near it.
void note_operators(Diagnostic& diagnostic, std::string_view name, const OpSet& set);

}  // namespace kgen
