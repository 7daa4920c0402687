// Rule: of the rules of tuning for a node's kernel that hold at the node for every value of the symbolic dims, the last
// that gives a compile-time parameter counts.
#pragma once

#include <vector>

#include "generator/model/graph.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {

// What that rule says, for each parameter of the kernel that any gives.
std::vector<const TuningRule::Choice*> tuning_at(const NodeScope& at, const KernelSignature& kernel, const OpSet& ops);

// Applies the rules anew to a graph whose kernels are chosen, now that the nodes are there that make composites'
// results. Linear in their number.
void tune_kernels(Graph& graph, const OpSet& ops, const DimRanges& ranges);

}  // namespace kgen
