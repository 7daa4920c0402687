// What is made of a layer's weights alone, in the layer.
#pragma once

#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// Reorders `order`, which is and stays topologically sorted. `is_output`: by value.
//
// Rule: a node that reads constants alone, or what such nodes make, and is read by one node, stands right in front of
// that. Quantisers write all that weights in integers stand for at the beginning of a model: there it would be handed to
// each layer, in floats.
void move_to_readers(const Graph& graph, const std::vector<bool>& is_output, std::vector<NodeId>& order);

}  // namespace kgen
