// One graph while it is simplified: what its rewrites share.
//
// A rewrite looks at one node whose operands have been simplified before. It changes the node in place, or says that
// other values can be read in place of its results. Nodes are only marked as removed; simplify drops them.
//
// Two kinds of values limit what a rewrite may do:
// - named: a fusion directive names it. Its node is neither replaced nor merged, and no rewrite looks behind it; it is
//   dropped only where nothing that is observed needs it.
// - observed: an output of the graph, or a state's next value. It keeps its name and must be produced.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/pass/graph/graph_edit.hpp"

namespace kgen {

// By ViewRule::Form: an operator that makes such a view; null: none does.
using ViewOps = std::array<const OpSpec*, names_of<ViewRule::Form>.size()>;

struct Rewriting {
  Graph& graph;
  const OpSet& ops;
  Numerics numerics = Numerics::fast;
  std::optional<UniqueNames> names;        // made when the first name is needed
  std::vector<ValueId> replacement;        // by ValueId: itself, or what is read in its place
  std::vector<bool> named;                 // by ValueId
  std::vector<bool> observed;              // by ValueId
  std::vector<bool> removed;               // by NodeId
  ViewOps view_ops;
  std::size_t node_visits = 0;             // how often a sweep has looked at a node
};

Rewriting start_rewriting(Graph& graph, const OpSet& ops, Numerics numerics);

// What is read in place of the value after all replacements so far.
ValueId resolve(Rewriting& rewriting, ValueId value);
// Applies that to the operands of a node.
void resolve_operands(Rewriting& rewriting, Node& node);

// Says that `by` is read in place of the node's only result, and marks the node as removed. False, doing nothing, where
// the types differ or the result is named.
bool replace_result(Rewriting& rewriting, NodeId node, ValueId by);

// Observed values that were replaced are produced again: where nothing prevents it, the node that makes the value read
// in their place makes them directly; otherwise their own node stays, as a copy where the operators have one.
void settle_observed(Rewriting& rewriting);

// The node that makes the value as its only result; null for inputs, constants, states, and for named values.
const Node* producer(const Rewriting& rewriting, ValueId value);

// The elements of a constant that stands in the graph (one: a splat); null for every other value.
const std::vector<Number>* elements_of(const Graph& graph, ValueId value);

// A new value like the others: not named, not observed, replaced by itself. `wish` is its name where that is free.
ValueId new_result(Rewriting& rewriting, const std::string& wish, TensorType type, SourceLocation where);
ValueId new_constant(Rewriting& rewriting, const std::string& wish, TensorType type, std::vector<Number> values,
                     SourceLocation where);

}  // namespace kgen
