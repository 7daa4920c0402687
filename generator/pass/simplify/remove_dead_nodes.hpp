// Rule: a node none of whose results is read, by another node, as an output of the graph or as a state's next value, is
// dropped (dead-code elimination).
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

// Drops those nodes, and those marked as removed, and numbers the others again. Operands must be resolved.
void remove_dead_nodes(Rewriting& rewriting);

}  // namespace kgen
