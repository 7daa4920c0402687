#include "generator/pass/schedule.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "generator/pass/layout.hpp"

namespace kgen {
namespace {

// Vertices are groups, then one for each node (used for destinations: "all its parts are written"), then one for each
// state and each destination ("the old version of this buffer is read for the last time"). Those that are not groups
// take no time; they keep the number of edges linear where many write what many read.
class Order {
 public:
  explicit Order(const FusedGraph& fused)
      : fused_(fused),
        graph_(fused.graph),
        groups_(static_cast<std::uint32_t>(fused.groups.size())),
        successors_(groups_ + 2 * graph_.nodes.size() + graph_.states.size()),
        waiting_(successors_.size(), 0) {
    find_bases();
    find_readers();
    add_reads();
    for (const Node& node : graph_.nodes) add_destination(node);
    for (std::uint32_t i = 0; i < graph_.states.size(); ++i) add_next(i);
  }

  std::vector<std::uint32_t> find();

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
    ++waiting_[after];
  }

  const View* destination_view(NodeId id) const {
    const auto* view = id == no_id ? nullptr : std::get_if<View>(&graph_.nodes[id].kind);
    return view && is_destination(*view) ? view : nullptr;
  }

  // What must be done before `value` can be read; no_id where it is there from the start.
  Vertex writer_of(ValueId value) const {
    const NodeId producer = graph_.value(base_[value]).producer;
    if (producer == no_id) return no_id;
    return destination_view(producer) ? complete(producer) : fused_.group_of[producer];
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
  std::vector<std::uint32_t> waiting_;
  std::vector<ValueId> base_;                        // by value: past views that are read in place
  std::vector<std::vector<std::uint32_t>> readers_;  // by base: of values that are overwritten
};

void Order::find_bases() {
  base_.resize(graph_.values.size());
  for (ValueId id = 0; id < base_.size(); ++id) base_[id] = id;
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    const Node& node = graph_.nodes[id];
    if (std::holds_alternative<View>(node.kind) && !destination_view(id))
      base_[node.outputs[0]] = base_[node.inputs[0]];
  }
}

void Order::find_readers() {
  std::vector<bool> overwritten(graph_.values.size(), false);
  for (const Node& node : graph_.nodes) {
    const auto* view = std::get_if<View>(&node.kind);
    if (view && view->form == ViewRule::Form::update) overwritten[node.inputs[0]] = true;
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
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const NodeId producer = graph_.value(open.back()).producer;
    open.pop_back();
    if (const View* view = destination_view(producer)) {
      const std::vector<ValueId>& inputs = graph_.nodes[producer].inputs;
      open.insert(open.end(), inputs.begin() + (view->form == ViewRule::Form::update ? 1 : 0), inputs.end());
    } else if (producer != no_id && fused_.group_of[producer] != no_id) {
      groups.push_back(fused_.group_of[producer]);
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

// What overwrites `buffer` with `written` waits for those who read it as it was, unless they do both at once.
void Order::add_old_version(ValueId buffer, ValueId written, Vertex barrier) {
  const std::vector<Vertex> writers = groups_writing(written);
  for (const std::uint32_t reader : readers_[buffer]) {
    if (!std::binary_search(writers.begin(), writers.end(), reader)) add_edge(reader, barrier);
  }
  add_edge(writer_of(buffer), barrier);
  for (const Vertex writer : writers) add_edge(barrier, writer);
}

void Order::add_destination(const Node& node) {
  const auto id = static_cast<NodeId>(&node - graph_.nodes.data());
  const View* view = destination_view(id);
  if (!view) return;
  for (const ValueId input : node.inputs) add_edge(writer_of(input), complete(id));
  if (view->form == ViewRule::Form::update) add_old_version(node.inputs[0], node.inputs[1], barrier(id));
}

// A next value that is not an update overwrites the whole buffer.
void Order::add_next(std::uint32_t index) {
  const StateData& state = graph_.states[index];
  if (state.next == no_id || state.next == state.value) return;
  const NodeId producer = graph_.value(state.next).producer;
  const View* view = destination_view(producer);
  if (view && view->form == ViewRule::Form::update) return;
  add_old_version(state.value, state.next, state_barrier(index));
}

std::vector<std::uint32_t> Order::find() {
  std::vector<NodeId> first_node(groups_, no_id);
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (const NodeId node : fused_.groups[group].nodes) first_node[group] = std::min(first_node[group], node);
  }
  using Entry = std::pair<NodeId, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<Vertex> open;
  const auto release = [&](Vertex vertex) {
    if (vertex < groups_) {
      ready.emplace(first_node[vertex], vertex);
    } else {
      open.push_back(vertex);
    }
  };
  for (Vertex vertex = 0; vertex < waiting_.size(); ++vertex) {
    if (waiting_[vertex] == 0) release(vertex);
  }
  std::vector<std::uint32_t> order;
  while (!open.empty() || !ready.empty()) {
    Vertex done;
    if (!open.empty()) {
      done = open.back();
      open.pop_back();
    } else {
      done = ready.top().second;
      ready.pop();
      order.push_back(done);
    }
    for (const Vertex next : successors_[done]) {
      if (--waiting_[next] == 0) release(next);
    }
  }
  return order;
}

}  // namespace

FusedGraph schedule(FusedGraph fused) {
  const std::vector<std::uint32_t> order = Order(fused).find();
  // A cycle would be a fault of `materialise` or `fuse`. The order as it came then stands, for `verify` to judge.
  if (order.size() != fused.groups.size()) return fused;
  std::vector<Group> groups;
  std::vector<std::uint32_t> place_of(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    place_of[order[place]] = place;
    groups.push_back(std::move(fused.groups[order[place]]));
  }
  fused.groups = std::move(groups);
  for (std::uint32_t& group : fused.group_of) {
    if (group != no_id) group = place_of[group];
  }
  return fused;
}

}  // namespace kgen
