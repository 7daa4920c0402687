// Rule: of the rules of tuning for a node's kernel that hold at the node for every value of the symbolic dims, the last
// that gives a compile-time parameter counts.
#pragma once

#include "generator/model/graph.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Applies the rules to a graph whose kernels are chosen, and whose composites are expanded. Linear in the nodes.
void tune_kernels(Graph& graph, const OpSet& ops, const DimRanges& ranges);

}  // namespace kgen
