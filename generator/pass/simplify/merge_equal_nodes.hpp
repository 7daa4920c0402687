// Rule: of nodes that compute the same, the first serves all (common-subexpression elimination). Two nodes compute the
// same where operator, kind, operands, attributes and types of the results are equal:
// - numbers are compared as bits, so NaN equals NaN and 0 differs from -0;
// - the operands of a commutative operator have no order;
// - views and reductions are compared by what they resolve to, so axis -1 of two is axis 1;
// - calls differ always, for each has constants and state of its own; so do observed copies, which are there to be
//   separate.
//
// The same goes for constants. A node whose result a directive names is never merged into another, but another may be
// merged into it.
#pragma once

#include <unordered_set>

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

struct NodeHash {
  const Graph* graph;
  std::size_t operator()(NodeId id) const;
};
struct NodeEqual {
  const Graph* graph;
  bool operator()(NodeId a, NodeId b) const;
};
// Nodes seen so far in one sweep, none equal to another. The nodes must not move.
using SeenNodes = std::unordered_set<NodeId, NodeHash, NodeEqual>;
SeenNodes no_seen_nodes(const Graph& graph);

// Replaces the node's results by those of an equal one seen before; else notes that it was seen.
bool merge_equal_node(Rewriting& rewriting, SeenNodes& seen, NodeId node);

bool merge_equal_constants(Rewriting& rewriting);

}  // namespace kgen
