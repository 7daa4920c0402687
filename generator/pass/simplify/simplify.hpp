// Rule: rewrites that leave every result as it was are applied until none applies any more. After
// sink_broadcasts and expand_updates, each round is
//   one sweep over the nodes in order, each of them rewritten with simplified operands:
//       fold_constants, apply_algebra, simplify_casts, simplify_views, merge_equal_nodes
//   then remove_dead_nodes, one sweep from the last node to the first: pull_views, and one back: push_concats.
// What each of them does stands at the top of its header. They know nothing of an operator but its specification.
//
// What is kept:
// - Inputs, states and outputs with their names and order. An output that turns out to be another value is still made:
//   by the node that makes the other value, where that has no name of its own to keep, or as a copy.
// - Values that a fusion directive names: see rewriting.hpp.
// - NaN, infinities and zeros, with one exception under `numerics: fast`: see apply_algebra.hpp.
#pragma once

#include <cstddef>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves an inferred, topologically ordered module, with or without composites. Values, constants and nodes
// that nothing needs are gone, and ids are numbered anew. Linear in the number of nodes: `node_visits`, where given, is
// set to how often a sweep looked at one. A node as the user wrote it that nothing reads gets a warning.
Module simplify(Module module, const OpSet& ops, Diagnostics& diagnostics, std::size_t* node_visits = nullptr);

// The same of one graph, for a pass that made nodes anew: broadcasts stay where they are, and nothing is warned of.
void simplify_graph(Graph& graph, const OpSet& ops, Numerics numerics, Diagnostics& diagnostics,
                    std::size_t* node_visits = nullptr);

}  // namespace kgen
