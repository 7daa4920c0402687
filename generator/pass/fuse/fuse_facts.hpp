// What fusion asks about a graph, answered in constant time.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/pass/graph/layout.hpp"
#include "generator/pass/graph/load_values.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {

// A constant that stands in the text of a stub: one number, read beside something else by an elementwise node that reads
// nothing in lines.
bool is_literal(const Graph& graph, const Node& reader, ValueId value);
// The one number of a constant, or null where it has more or lies in a file.
const Number* single_number(const Graph& graph, ValueId value);

// `shape` with the extents of `axes` replaced by 1.
Shape keep_axes(Shape shape, const std::vector<int>& axes);
// `shape` without `axes`.
Shape drop_axes(const Shape& shape, const std::vector<int>& axes);

// What the nodes of a rows group make: one element for each of the loop, or one for each row, where the reduced axes are
// kept with extent 1 or dropped. An operand is aligned with the result of the node that reads it, as NumPy does, and
// stands to the loop as that result does.
enum class RowForm { full, kept, dropped };
// That of a node's result; nothing where it has no such shape. Where every row has one element, kept is full.
std::optional<RowForm> row_form(const Shape& shape, const Shape& loop, const std::vector<int>& row_axes);

class FuseFacts {
 public:
  explicit FuseFacts(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const DimRanges& ranges() const { return ranges_; }
  // The node as conditions and sizes of its kernel see it.
  NodeScope scope(const Node& node) const {
    return {graph_, node, ranges_, node.attributes, {}, [this](ValueId value) { return at_load(value); }};
  }
  std::span<const NodeId> consumers(ValueId value) const {
    return {consumers_.data() + first_[value], consumers_.data() + first_[value + 1]};
  }
  // A graph output, or a state's next value.
  bool kept(ValueId value) const { return kept_[value]; }
  bool writes_state(NodeId node) const { return writes_state_[node]; }
  // Depends on nothing but constants: computed once, when the model is loaded.
  bool at_load(ValueId value) const { return load_values_.contains(value); }
  // An elementwise node whose result leads, through elementwise nodes, into a reduction.
  bool wants_rows(NodeId node) const { return wants_rows_[node]; }
  const Strides& strides(ValueId value) const { return strides_[value]; }
  // Follows views that only add or drop axes of extent 1 back to what they show.
  ValueId peel(ValueId value) const;
  // Follows all views that keep the elements in row-major order, whatever the axes, back to what they show.
  ValueId unshaped(ValueId value) const { return unshaped_[value]; }
  // The updates of states for which the node makes what they bring, or a piece of it, in the state's buffer.
  std::span<const NodeId> updates_written_by(NodeId node) const {
    const auto found = updates_written_.find(node);
    return found == updates_written_.end() ? std::span<const NodeId>{} : found->second;
  }
  // Whether the node is a view that only gives the elements other axes.
  bool reshapes_only(NodeId node) const;

  bool is_view(NodeId node) const { return std::holds_alternative<IndexMap>(graph_.nodes[node].kind); }

 private:
  const Graph& graph_;
  DimRanges ranges_;
  std::vector<std::uint32_t> first_;  // into consumers_, by value
  std::vector<NodeId> consumers_;
  std::vector<bool> kept_, writes_state_, wants_rows_;
  std::vector<ValueId> unshaped_;
  LoadValues load_values_;
  std::vector<Strides> strides_;
  std::unordered_map<NodeId, std::vector<NodeId>> updates_written_;
};

// The memory that `nodes` read, each value once, in their order; no literals. made_here(operand): they find it in
// registers.
template <class MadeHere>
std::vector<ValueId> read_from_memory(const FuseFacts& facts, const std::vector<NodeId>& nodes, MadeHere made_here) {
  std::vector<ValueId> values;
  for (const NodeId id : nodes) {
    const Node& node = facts.graph().nodes[id];
    for (const ValueId input : node.inputs) {
      if (input == no_id || is_literal(facts.graph(), node, input) || made_here(input)) continue;
      if (std::find(values.begin(), values.end(), input) == values.end()) values.push_back(input);
    }
  }
  return values;
}

}  // namespace kgen
