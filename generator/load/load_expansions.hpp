// The expansions of composite operators.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Reads `expansion:`, a list of nodes or a list of {when, nodes}, into `op`, whose operands, results and attributes
// have been read. Errors: a name that is no operand, no attribute and no result of an earlier node; a name that is
// defined twice; a result of the operator that no node makes; a choice without `when` before the last, or none at the
// end.
void read_expansions(Yaml value, OpSpec& op, Diagnostics& diagnostics);

// Reads `prepared:`, a list of {when, nodes}, in the same way; each has a condition, and the operator a kernel.
void read_prepared(Yaml value, OpSpec& op, Diagnostics& diagnostics);

// Reads `spellings:`, a list of {when, numbers, nodes}, in the same way. In the nodes, "$name" is also a number that
// `numbers` mentions.
void read_spellings(Yaml value, OpSpec& op, Diagnostics& diagnostics);

}  // namespace kgen
