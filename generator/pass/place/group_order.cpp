#include "generator/pass/place/group_order.hpp"

#include <algorithm>
#include <utility>

#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/graph/layout.hpp"
#include "generator/pass/graph/update_order.hpp"

namespace kgen {
namespace {

class Order {
 public:
  explicit Order(const FusedGraph& fused)
      : fused_(fused),
        graph_(fused.graph),
        groups_(static_cast<std::uint32_t>(fused.groups.size())),
        successors_(groups_ + 2 * graph_.nodes.size() + graph_.states.size()) {
    find_bases();
    find_readers();
    add_reads();
    for (const Node& node : graph_.nodes) add_destination(node);
    for (std::uint32_t i = 0; i < graph_.states.size(); ++i) add_next(i);
  }

  GroupOrder take() { return {groups_, std::move(successors_)}; }

 private:
  using Vertex = std::uint32_t;
  Vertex complete(NodeId destination) const { return groups_ + destination; }
  Vertex barrier(NodeId destination) const { return groups_ + static_cast<Vertex>(graph_.nodes.size()) + destination; }
  Vertex state_barrier(std::uint32_t state) const {
    return groups_ + 2 * static_cast<Vertex>(graph_.nodes.size()) + state;
  }

  void add_edge(Vertex before, Vertex after) {
    if (before == no_id || before == after) return;
    successors_[before].push_back(after);
  }

  const IndexMap* destination_view(NodeId id) const {
    const auto* view = id == no_id ? nullptr : std::get_if<IndexMap>(&graph_.nodes[id].kind);
    return view && is_destination(*view) ? view : nullptr;
  }

  // What must be done before `value` can be read; no_id where it is there from the start.
  Vertex writer_of(ValueId value) const {
    const NodeId producer = graph_.value(base_[value]).producer;
    if (producer == no_id) return no_id;
    return destination_view(producer) ? complete(producer) : fused_.group_of[producer];
  }

  // Whether that result is a state, some elements of which were replaced.
  bool is_updated_in_place(const Node& node, std::size_t output) const {
    const ValueId buffer = updated_operand(node, output);
    return buffer != no_id && updated_state(graph_, buffer) != no_id;
  }

  void find_bases();
  void find_readers();
  void add_reads();
  void add_destination(const Node& node);
  void add_next(std::uint32_t state);
  void add_old_version(ValueId buffer, ValueId written, Vertex barrier);
  std::vector<Vertex> groups_writing(ValueId value) const;

  const FusedGraph& fused_;
  const Graph& graph_;
  std::uint32_t groups_;
  std::vector<std::vector<Vertex>> successors_;
  std::vector<ValueId> base_;                        // by value: past views that are read in place
  std::vector<std::vector<std::uint32_t>> readers_;  // by base: of values that are overwritten
};

void Order::find_bases() {
  base_.resize(graph_.values.size());
  for (ValueId id = 0; id < base_.size(); ++id) base_[id] = id;
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    const Node& node = graph_.nodes[id];
    if (std::holds_alternative<IndexMap>(node.kind) && !destination_view(id))
      base_[node.outputs[0]] = base_[node.inputs[0]];
  }
}

void Order::find_readers() {
  std::vector<bool> overwritten(graph_.values.size(), false);
  for (const Node& node : graph_.nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (is_updated_in_place(node, i)) overwritten[updated_operand(node, i)] = true;
    }
  }
  for (const StateData& state : graph_.states) overwritten[state.value] = state.next != no_id;
  readers_.resize(graph_.values.size());
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (const ValueId input : fused_.groups[group].inputs) {
      if (overwritten[base_[input]]) readers_[base_[input]].push_back(group);
    }
  }
}

void Order::add_reads() {
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (const ValueId input : fused_.groups[group].inputs) add_edge(writer_of(input), group);
  }
}

// The groups that write `value`, or the parts that make it up.
std::vector<Order::Vertex> Order::groups_writing(ValueId value) const {
  std::vector<Vertex> groups;
  for (const NodeId writer : writers_of(graph_, value)) {
    if (fused_.group_of[writer] != no_id) groups.push_back(fused_.group_of[writer]);
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

// What overwrites `buffer` with `written` waits for those who read it as it was, unless they do both at once. One group
// that brings what two updates do writes where these do not meet (`fuse`), and waits for the first.
void Order::add_old_version(ValueId buffer, ValueId written, Vertex barrier) {
  const std::vector<Vertex> writers = groups_writing(written);
  for (const std::uint32_t reader : readers_[buffer]) {
    if (!std::binary_search(writers.begin(), writers.end(), reader)) add_edge(reader, barrier);
  }
  add_edge(writer_of(buffer), barrier);
  const Node* earlier = update_making(graph_, buffer);
  const std::vector<Vertex> before = earlier ? groups_writing(earlier->inputs[1]) : std::vector<Vertex>{};
  for (const Vertex writer : writers) {
    const bool brings_both = before.size() == 1 && before[0] == writer;
    if (!brings_both) add_edge(barrier, writer);
  }
}

void Order::add_destination(const Node& node) {
  const auto id = static_cast<NodeId>(&node - graph_.nodes.data());
  const bool has_parts = destination_view(id) != nullptr;
  if (has_parts) {
    for (const ValueId input : node.inputs) add_edge(writer_of(input), complete(id));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!is_updated_in_place(node, i)) continue;
    add_old_version(updated_operand(node, i), has_parts ? node.inputs[1] : node.outputs[i], barrier(id));
  }
}

// A next value that is not an update overwrites the whole buffer.
void Order::add_next(std::uint32_t index) {
  const StateData& state = graph_.states[index];
  if (state.next == no_id || state.next == state.value) return;
  if (updated_state(graph_, state.next) == state.value) return;
  add_old_version(state.value, state.next, state_barrier(index));
}

}  // namespace

std::vector<std::uint32_t> GroupOrder::predecessor_counts() const {
  std::vector<std::uint32_t> counts(successors.size(), 0);
  for (const std::vector<Vertex>& after : successors) {
    for (const Vertex vertex : after) ++counts[vertex];
  }
  return counts;
}

GroupOrder order_groups(const FusedGraph& fused) { return Order(fused).take(); }

}  // namespace kgen
