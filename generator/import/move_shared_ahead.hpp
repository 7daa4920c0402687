// What the first of several layers computes for all of them, in front of it, so that the first is as the others are.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// Reorders `order`, which is and stays topologically sorted, and with it `tokens`: nodes that are alike have equal
// ones.
//
// Rule: nodes that stand between those that a layer and the next one have in common, and read nothing that these make,
// come before the layer. Exporters leave them there: a mask, say, that all layers read is made where the first one
// does.
void move_shared_ahead(const Graph& graph, std::vector<NodeId>& order, std::vector<std::uint64_t>& tokens);

}  // namespace kgen
