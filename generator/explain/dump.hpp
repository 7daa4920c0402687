// Graphs and plans as text, for `--dump-after`. In the order of the nodes, one a line, in the graph language where it has
// words for it.
#pragma once

#include <string>

#include "generator/model/graph.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

std::string dump(const Module& module);
// The graph again, by groups.
std::string dump(const FusedGraph& fused);

}  // namespace kgen
