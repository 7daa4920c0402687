// Rule: of the kernels that implement a node's operator, the first that takes the node computes it: those that were
// loaded beside the operator's own in their order (a user's, in the order of --kernels), then its own. A composite that
// no kernel takes is expanded. A kernel takes a node where
//   - each operand is given or optional, and has one of the dtypes that the kernel names for it;
//   - what it takes as numbers of C++ is known now: no attribute depends on a symbolic dim;
//   - its `when` holds for every value of the symbolic dims (see spec/node_expression.hpp); an operand is `constant`
//     where it is among the graph's LoadValues.
// Where there was a choice, the graph records it with the reasons.
#pragma once

#include <unordered_map>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/pass/graph/load_values.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {

// The kernels of the operators that were asked about so far.
struct KernelTable {
  const OpSet& ops;
  std::unordered_map<const OpSpec*, std::vector<const KernelSignature*>> candidates;
};

// A node as the conditions of its operator and of kernels see it. All that is passed outlives it.
NodeScope scope_at(const Graph& graph, const Node& node, const DimRanges& ranges, const LoadValues& constants);

// Sets `kernel` of a node that has been inferred, and the kind of a node whose kernel does more than its operator's
// kind says: a composite is no composite any more, a structured operator may be opaque. An error where the operator
// must have a kernel and none takes the node.
void choose_kernel(Graph& graph, Node& node, KernelTable& table, const DimRanges& ranges, const LoadValues& constants,
                   Diagnostics& diagnostics);

// That for every node of an inferred module. The nodes of expansions follow in decompose. Linear in their number.
Module choose_kernels(Module module, const OpSet& ops, Diagnostics& diagnostics);

// Whether a kernel of the node's operator takes the node as it stands.
bool takes_node(const KernelSignature& kernel, const Graph& graph, const Node& node, const DimRanges& ranges,
                const LoadValues& constants);

// A warning for each kernel that can never be chosen: one before it takes everything that it takes.
void warn_of_hidden_kernels(const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
