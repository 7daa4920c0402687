// Nodes in an order in which they may run.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Orders the nodes so that each stands after those whose results it reads, otherwise as they stood (Kahn's algorithm,
// the earliest ready node first), and brings Value::producer up to date. A cycle is an error that shows its path.
bool sort_nodes(Graph& graph, Diagnostics& diagnostics);

}  // namespace kgen
