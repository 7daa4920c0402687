// From a pattern that has been found to the operator's node, and back: whether the node, spelled out, is what was
// found.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/pass/raise/match.hpp"

namespace kgen {

// What in a graph stands for what in a pattern.
struct Match {
  std::vector<ValueId> values;                           // by value of the pattern; no_id: not known (yet)
  std::vector<std::optional<Node>> parts;                // by part; nothing: a view that is undone
  Attributes known;                                      // what the spelling's attributes and numbers must be, by name
  std::vector<std::pair<const Expression*, ValueId>> numbers;  // constants that must be what the spelling says
  std::vector<NodeId> covered;                           // the nodes that were found
  std::vector<NodeId> may_stay;                          // of those, what something else may read, too
  std::vector<NodeId> staying;                           // of those, what something else reads; no longer covered
  bool as_written = true;                                // no part stands for nodes that it would not be expanded to
};

// The number that a constant holds; null where it is none, or several.
const Number* number_of(const Graph& graph, ValueId value);
// Whether both are the same element of `dtype`.
bool equal_as(DType dtype, const Number& a, const Number& b);

// `input` stands where the graph has a constant of that dtype: says what "$epsilon" is, unless that is known.
void learn_number(Match& match, const OpSpec& op, const Expression& input, const Number& number, DType dtype);
// The same of all attributes of a node: "$axis", "[$axis]".
void learn_attributes(Match& match, const ExpansionNode& from, const Node& node);

// Whether a part, spelled with the attributes of `spelled`, is the node.
bool respells(SearchedGraph& in, const Node& spelled, const Pattern::Part& part, const Node& node);

// The operator's node at a match that is complete, if that does what the nodes do.
std::optional<Recognised> finish_match(SearchedGraph& in, const Pattern& pattern, NodeId last, Match& match);

}  // namespace kgen
