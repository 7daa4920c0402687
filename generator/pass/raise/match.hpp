// One pattern held against a graph: does what ends in a node spell the pattern's operator, and with what operands and
// attributes?
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/graph/load_values.hpp"
#include "generator/pass/raise/pattern.hpp"

namespace kgen {

// A graph that is searched, and what was known of it before the search.
struct SearchedGraph {
  Graph& graph;
  const OpSet& ops;
  const DimRanges& ranges;
  const PatternTable& patterns;
  std::vector<std::uint32_t> readers;  // by ValueId, as from count_readers
  std::vector<bool> named;             // by ValueId
  UniqueNames names;
  LoadValues constants;
  std::set<std::pair<std::string, std::string>> required;  // graph.requirements: left and right, as text
  // By NodeId: operators of which no spelling ends there, as far as searches have asked. Many patterns have the same
  // part last.
  std::vector<std::vector<const OpSpec*>> not_spelled;
};

// What a node and those behind it spell.
struct Recognised {
  Node node;                        // the operator, over the values that the nodes read
  std::vector<Node> before, after;  // views that bring operands and result into the operator's form; most often none
  std::vector<NodeId> covered;      // what it stands for
  std::vector<NodeId> staying;      // what it stands for too, but that something else reads
  bool as_written = false;          // it would be expanded to just these nodes
  bool pays = false;                // a kernel takes it, or it is expanded to something other than what is written
};

// Rule: a pattern is found where
//   - each part has a node of its operator, or nodes that spell that operator; operands of commutative operators may
//     stand in either order;
//   - what the spelling calls by one name is one value (broadcast as its elementwise nodes do); a number is the number
//   that it says, up to rounding to its dtype;
//   - nothing else reads a value between the nodes, which is no output, no state's next value and not named by a
//     fusion directive (views of operands aside, and values that the spelling calls shared: what makes them stays then);
//   - the operator's node, with the attributes that follow from the nodes', has the type of what they make, and its
//     spelling at those operands is what is written: the same axes, shapes and attributes in each node;
//   - the operator asks nothing of the run that the nodes do not ask, and does not read a state that an update of it
//     may stand in front of.
// Nothing is changed but for values that are added for views.
std::optional<Recognised> recognise(SearchedGraph& in, const PatternStart& start, NodeId last);

}  // namespace kgen
