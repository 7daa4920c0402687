#include "generator/pass/fuse/recompute.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "generator/base/contains.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"
#include "generator/pass/fuse/recompute_readers.hpp"
#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/graph/source_operand.hpp"

namespace kgen {
namespace {

// The graph and its groups while values are handed to their readers. New nodes stand behind the others until the end.
class Recomputing {
 public:
  Recomputing(const FuseFacts& facts, const FusedGraph& fused)
      : facts_(facts), original_(facts.graph()), grouped_(fused), orders_(original_.directives) {}

  // `value` is one that a group stores.
  void consider(ValueId value);
  Recomputed take() &&;

 private:
  const Graph& graph() const { return edited_ ? edited_->graph : original_; }
  const Node& node(NodeId id) const { return graph().nodes[id]; }
  const std::vector<Group>& groups() const { return edited_ ? edited_->groups : grouped_.groups; }
  std::uint32_t group_of(NodeId id) const { return (edited_ ? edited_->group_of : grouped_.group_of)[id]; }
  const Group& group_making(ValueId value) const { return groups()[group_of(graph().value(value).producer)]; }

  bool is_made_beside(NodeId id, ValueId value) const;
  bool collect(NodeId id, RecomputedValue& again) const;
  bool collect_input(NodeId id, ValueId input, RecomputedValue& again) const;
  bool is_read_by(ValueId value, NodeId reader) const;
  std::vector<NodeId> movable(const RecomputedValue& again) const;
  NodeId original_of(NodeId id) const;
  Group as_original(const Group& group) const;
  bool takes_all(const RecomputedValue& again, const std::vector<ReaderPort>& ports) const;
  void add_price_facts(RecomputedValue& again, const std::vector<ReaderPort>& ports,
                       const std::vector<NodeId>& moved) const;

  void begin_edit();
  void hand_over(const RecomputedValue& again, const std::vector<ReaderPort>& ports, const std::vector<NodeId>& moved,
                 Recomputation& made);
  ValueId give_to(const ReaderPort& port, const RecomputedValue& again, const std::vector<NodeId>& moved);
  NodeId add_copy(NodeId original, std::unordered_map<ValueId, ValueId>& copies);
  std::vector<NodeId>& nodes_of(const ReaderPort& port);
  void move_to(NodeId id, const ReaderPort& port);
  void move_into(NodeId id, NodeId known, const ReaderPort& port, std::unordered_map<ValueId, ValueId>& copies);
  NodeId find_same(NodeId id, const ReaderPort& port);
  void drop_copy(NodeId id);
  void drop_values();

  const FuseFacts& facts_;
  const Graph& original_;
  const FusedGraph& grouped_;  // as it was
  RecomputeOrders orders_;
  std::vector<Recomputation> recomputations_;
  std::optional<FusedGraph> edited_;  // from the first value on that is computed again
  UniqueNames names_;
  std::vector<std::vector<NodeId>> next_to_;  // by a node of the original graph: its copies
  bool dropped_ = false;                      // some copies were, as others make the same
};

// ---- what would be computed again -----------------------------------------------------------------------------------

// False of a state, and of what is written over in place.
bool keeps_its_memory(const Graph& graph, ValueId value) {
  while (graph.value(value).kind == ValueKind::result) {
    const Node& node = graph.nodes[graph.value(value).producer];
    if (updated_operand(node, graph.value(value).index) != no_id) return false;
    if (!std::holds_alternative<IndexMap>(node.kind)) return true;
    value = node.inputs[0];
  }
  return graph.value(value).kind != ValueKind::state;
}

// Whether neighbours of the last axis lie side by side, or are the same.
bool runs_along_rows(const FuseFacts& facts, ValueId value) {
  const Shape& shape = facts.graph().type(value).shape;
  const Strides& strides = facts.strides(value);
  std::size_t axis = shape.size();
  while (axis > 1 && shape[axis - 1] == Dim(1)) --axis;
  return axis == 0 || strides[axis - 1] == Dim(0) || strides[axis - 1] == Dim(1);
}

// Whether the group of node `id` makes `value`, and nobody can read that from memory.
bool Recomputing::is_made_beside(NodeId id, ValueId value) const {
  const NodeId maker = graph().value(value).producer;
  return maker != no_id && group_of(maker) == group_of(id) && !contains(group_making(value).outputs, value);
}

bool Recomputing::collect_input(NodeId id, ValueId input, RecomputedValue& again) const {
  if (is_made_beside(id, input)) return collect(graph().value(input).producer, again);
  const ValueId shown = facts_.unshaped(input);
  const bool readable = shown == input || !is_made_beside(id, shown);
  if (!readable || !keeps_its_memory(original_, input) || !runs_along_rows(facts_, input)) return false;
  if (!contains(again.reads, input)) again.reads.push_back(input);
  return true;
}

// Adds the node and those of its group that it needs, operands first. False where they cannot be computed elsewhere.
bool Recomputing::collect(NodeId id, RecomputedValue& again) const {
  if (contains(again.nodes, id)) return true;
  const Node& made = node(id);
  const bool plain = std::holds_alternative<Elementwise>(made.kind) && made.op && made.op->role != OpRole::copy &&
                     made.outputs.size() == 1 && again.nodes.size() < description_of(original_).most_nodes;
  if (!plain) return false;
  const TensorType& type = graph().type(made.outputs[0]);
  if (type.structure || type.shape != graph().type(again.value).shape) return false;
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    if (made.inputs[i] == no_id || is_literal(graph(), made, made.inputs[i])) continue;
    if (line_axis(made, i) >= 0 || !collect_input(id, made.inputs[i], again)) return false;
  }
  again.nodes.push_back(id);
  again.originals.push_back(original_of(id));
  return true;
}

bool Recomputing::is_read_by(ValueId value, NodeId reader) const {
  return std::any_of(node(reader).inputs.begin(), node(reader).inputs.end(), [&](ValueId input) {
    if (input == no_id) return false;
    return input == value || (input < original_.values.size() && facts_.unshaped(input) == value);
  });
}

// Those of the nodes that their group needs for nothing else; none where it needs the value itself.
std::vector<NodeId> Recomputing::movable(const RecomputedValue& again) const {
  std::vector<NodeId> moved;
  for (auto id = again.nodes.rbegin(); id != again.nodes.rend(); ++id) {
    const ValueId made = node(*id).outputs[0];
    const std::vector<NodeId>& beside = groups()[group_of(*id)].nodes;
    const bool needed = std::any_of(beside.begin(), beside.end(),
                                    [&](NodeId other) { return !contains(moved, other) && is_read_by(made, other); });
    if (!needed) moved.push_back(*id);
    if (moved.empty()) break;
  }
  return moved;
}

NodeId Recomputing::original_of(NodeId id) const {
  if (id < original_.nodes.size()) return id;
  return original_.value(graph().value(node(id).outputs[0]).again_of).producer;
}

// The group with what its nodes are copies of.
Group Recomputing::as_original(const Group& group) const {
  Group same = group;
  const auto rename = [&](std::vector<NodeId>& ids) {
    for (NodeId& id : ids) id = original_of(id);
  };
  rename(same.nodes);
  for (Prologue& prologue : same.prologues) rename(prologue.nodes);
  for (Epilogue& epilogue : same.epilogues) rename(epilogue.nodes);
  rename(same.row_state.nodes);
  rename(same.statistics.nodes);
  return same;
}

bool Recomputing::takes_all(const RecomputedValue& again, const std::vector<ReaderPort>& ports) const {
  return std::all_of(ports.begin(), ports.end(), [&](const ReaderPort& port) {
    const Group& group = groups()[port.group];
    return can_take(facts_, as_original(group), port, again) && !orders_.forbids(graph(), again.nodes, group.nodes);
  });
}

void Recomputing::add_price_facts(RecomputedValue& again, const std::vector<ReaderPort>& ports,
                                  const std::vector<NodeId>& moved) const {
  const Group& own = group_making(again.value);
  again.stays = moved.empty();
  if (!moved.empty() && own.outputs.size() == 1) again.spared = own.inputs;
  again.spares_stub = own.nodes.size() == moved.size();
  for (const ReaderPort& port : ports) {
    RecomputingReader reader;
    if (port.prologue != ReaderPort::none) {
      const std::vector<NodeId> roots = port.root == no_id ? roots_of(groups()[port.group]) : std::vector{port.root};
      reader.evaluations = evaluations(facts_.scope(original_.nodes[roots.front()]), port.prologue, roots);
    }
    for (const ValueId read : again.reads) {
      if (!contains(groups()[port.group].inputs, read)) reader.new_reads.push_back(read);
    }
    again.readers.push_back(std::move(reader));
  }
}

void Recomputing::consider(ValueId value) {
  const NodeId maker = original_.value(value).producer;
  if (facts_.kept(value) || facts_.at_load(value) || !std::holds_alternative<Elementwise>(node(maker).kind)) return;
  if (element_count(original_.type(value).shape) == Dim(0)) return;
  const std::vector<ReaderPort> ports =
      reader_ports(facts_, groups(), edited_ ? edited_->group_of : grouped_.group_of, value);
  RecomputedValue again{.value = value};
  if (ports.empty() || !collect(maker, again) || again.reads.empty()) return;
  const std::vector<NodeId> moved = movable(again);
  const Group& own = group_making(value);
  // What one stub makes for one other did not join that for a reason.
  const bool in_question = ports.size() > 1 || moved.empty() || own.outputs.size() > 1;
  if (!in_question || !takes_all(again, ports)) return;
  const bool loops = own.kind == GroupKind::elementwise || own.kind == GroupKind::rows;
  if (!moved.empty() && (!loops || orders_.forces_any(graph(), moved))) return;
  add_price_facts(again, ports, moved);
  RecomputingPrice price = price_of(facts_, again);
  Recomputation made{.value = value, .copies = {}, .reason = std::move(price.reason), .bytes = {}};
  if (price.pays) {
    made.bytes = price.saved;
    hand_over(again, ports, moved, made);
  }
  recomputations_.push_back(std::move(made));
}

// ---- handing it over ------------------------------------------------------------------------------------------------

void Recomputing::begin_edit() {
  if (edited_) return;
  edited_ = grouped_;
  edited_->graph = original_;
  names_ = UniqueNames(original_);
  next_to_.resize(original_.nodes.size());
}

void read_instead(Node& node, const std::unordered_map<ValueId, ValueId>& copies) {
  for (ValueId& input : node.inputs) {
    if (const auto copy = copies.find(input); copy != copies.end()) input = copy->second;
  }
}

NodeId Recomputing::add_copy(NodeId original, std::unordered_map<ValueId, ValueId>& copies) {
  Graph& graph = edited_->graph;
  const auto id = static_cast<NodeId>(graph.nodes.size());
  Node copy = graph.nodes[original];
  read_instead(copy, copies);
  Value value = graph.value(copy.outputs[0]);
  if (value.again_of == no_id) value.again_of = copy.outputs[0];
  value.name = names_.take(graph.value(value.again_of).name);
  next_to_[original_.value(value.again_of).producer].push_back(id);
  const auto made = static_cast<ValueId>(graph.values.size());
  copies[std::exchange(copy.outputs[0], made)] = made;
  value.producer = id;
  graph.values.push_back(std::move(value));
  graph.nodes.push_back(std::move(copy));
  edited_->group_of.push_back(no_id);
  return id;
}

// Those that ride in the port; in a group without a kernel, all.
std::vector<NodeId>& Recomputing::nodes_of(const ReaderPort& port) {
  Group& group = edited_->groups[port.group];
  if (port.epilogue != ReaderPort::none) return group.epilogues[port.epilogue].nodes;
  if (port.prologue == ReaderPort::none) return group.nodes;
  const auto place = std::find_if(group.prologues.begin(), group.prologues.end(), [&](const Prologue& each) {
    return each.operand == port.prologue && each.reader == port.root;
  });
  if (place != group.prologues.end()) return place->nodes;
  return group.prologues.emplace_back(Prologue{port.prologue, {}, port.root}).nodes;
}

void Recomputing::move_to(NodeId id, const ReaderPort& port) {
  if (const std::uint32_t from = group_of(id); from != no_id) std::erase(edited_->groups[from].nodes, id);
  edited_->group_of[id] = port.group;
  std::vector<NodeId>& nodes = edited_->groups[port.group].nodes;
  nodes.push_back(id);
  if (std::vector<NodeId>& riding = nodes_of(port); &riding != &nodes) riding.push_back(id);
}

// The node of the port that computes what `id` does; no_id: none.
NodeId Recomputing::find_same(NodeId id, const ReaderPort& port) {
  const std::vector<NodeId>& nodes = nodes_of(port);
  const auto same =
      std::find_if(nodes.begin(), nodes.end(), [&](NodeId each) { return original_of(each) == original_of(id); });
  return same == nodes.end() ? no_id : *same;
}

void Recomputing::drop_copy(NodeId id) {
  Group& group = edited_->groups[edited_->group_of[id]];
  std::erase(group.nodes, id);
  for (Prologue& prologue : group.prologues) std::erase(prologue.nodes, id);
  for (Epilogue& epilogue : group.epilogues) std::erase(epilogue.nodes, id);
  std::erase(next_to_[original_of(id)], id);
  edited_->group_of[id] = no_id;
  dropped_ = true;
}

// `id` goes to the port, where `known` (no_id: nothing) computes the same: one of the two is a copy, and goes.
void Recomputing::move_into(NodeId id, NodeId known, const ReaderPort& port,
                            std::unordered_map<ValueId, ValueId>& copies) {
  Graph& graph = edited_->graph;
  if (known != no_id && id >= original_.nodes.size()) {
    copies[graph.nodes[id].outputs[0]] = graph.nodes[known].outputs[0];
    return drop_copy(id);
  }
  read_instead(graph.nodes[id], copies);
  move_to(id, port);
  if (known == no_id) return;
  drop_copy(known);
  for (const NodeId reader : edited_->groups[port.group].nodes) {
    read_instead(graph.nodes[reader], {{graph.nodes[known].outputs[0], graph.nodes[id].outputs[0]}});
  }
}

// The nodes in `moved` go there themselves, of the others copies. What the port then reads instead of the value.
ValueId Recomputing::give_to(const ReaderPort& port, const RecomputedValue& again, const std::vector<NodeId>& moved) {
  std::unordered_map<ValueId, ValueId> copies;
  for (const NodeId id : again.nodes) {
    const NodeId known = find_same(id, port);
    if (contains(moved, id)) {
      move_into(id, known, port, copies);
    } else if (known != no_id) {
      copies[edited_->graph.nodes[id].outputs[0]] = edited_->graph.nodes[known].outputs[0];
    } else {
      move_to(add_copy(id, copies), port);
    }
  }
  Group& group = edited_->groups[port.group];
  for (const ValueId read : again.reads) {
    if (!contains(group.inputs, read)) group.inputs.push_back(read);
  }
  const auto copy = copies.find(again.value);
  const ValueId made = copy == copies.end() ? again.value : copy->second;
  for (const auto& [reader, operand] : port.reads) edited_->graph.nodes[reader].inputs[operand] = made;
  return made;
}

void Recomputing::hand_over(const RecomputedValue& again, const std::vector<ReaderPort>& ports,
                            const std::vector<NodeId>& moved, Recomputation& made) {
  begin_edit();
  std::erase(edited_->groups[group_of(again.nodes.back())].outputs, again.value);
  // The first takes the originals, and last, as copies read what these read until then.
  for (std::size_t i = 1; i <= ports.size(); ++i) {
    const ReaderPort& port = ports[i % ports.size()];
    const ValueId given = give_to(port, again, i == ports.size() ? moved : std::vector<NodeId>{});
    if (given != again.value) made.copies.push_back(given);
    std::erase(edited_->groups[port.group].inputs, again.value);
  }
}

// ---- the result -----------------------------------------------------------------------------------------------------

// Puts copies behind what they copy, so that operands come first. The number of each node from then on.
std::vector<NodeId> order_nodes(Graph& graph, const std::vector<std::vector<NodeId>>& next_to) {
  std::vector<NodeId> new_id(graph.nodes.size());
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  const auto add = [&](NodeId id) {
    new_id[id] = static_cast<NodeId>(nodes.size());
    nodes.push_back(std::move(graph.nodes[id]));
  };
  for (NodeId id = 0; id < next_to.size(); ++id) {
    add(id);
    std::for_each(next_to[id].begin(), next_to[id].end(), add);
  }
  graph.nodes = std::move(nodes);
  number_producers(graph);
  return new_id;
}

void number_groups(FusedGraph& fused, const std::vector<NodeId>& new_id) {
  const auto renumber = [&](std::vector<NodeId>& ids) {
    for (NodeId& id : ids) id = new_id[id];
    std::sort(ids.begin(), ids.end());
  };
  std::erase_if(fused.groups, [](const Group& group) { return group.nodes.empty(); });
  fused.group_of.assign(fused.graph.nodes.size(), no_id);
  for (std::uint32_t index = 0; index < fused.groups.size(); ++index) {
    Group& group = fused.groups[index];
    renumber(group.nodes);
    for (Prologue& prologue : group.prologues) {
      renumber(prologue.nodes);
      if (prologue.reader != no_id) prologue.reader = new_id[prologue.reader];
    }
    for (Epilogue& epilogue : group.epilogues) renumber(epilogue.nodes);
    renumber(group.row_state.nodes);
    renumber(group.statistics.nodes);
    if (group.root != no_id) group.root = new_id[group.root];
    for (NodeId& sibling : group.siblings) sibling = new_id[sibling];  // in the order of the call
    for (const NodeId id : group.nodes) fused.group_of[id] = index;
  }
}

// In the order in which the nodes read them.
void list_inputs(FusedGraph& fused) {
  const FuseFacts facts(fused.graph);
  const auto makes = [&](std::uint32_t index, ValueId value) {
    const NodeId maker = fused.graph.value(value).producer;
    return maker != no_id && fused.group_of[maker] == index;
  };
  for (std::uint32_t index = 0; index < fused.groups.size(); ++index) {
    Group& group = fused.groups[index];
    const bool kernel = group.kind == GroupKind::structured;
    group.inputs = read_from_memory(facts, group.nodes, [&](ValueId value) {
      return makes(index, facts.peel(value)) || (kernel && makes(index, facts.unshaped(value)));
    });
  }
}

// Of copies that were dropped the values go, too; those behind them are numbered again.
void Recomputing::drop_values() {
  Graph& graph = edited_->graph;
  const std::size_t first = original_.values.size();
  std::vector<ValueId> new_id(graph.values.size(), no_id);
  std::vector<Value> kept;
  for (std::size_t id = first; id < graph.values.size(); ++id) {
    if (edited_->group_of[graph.values[id].producer] == no_id) continue;
    new_id[id] = static_cast<ValueId>(first + kept.size());
    kept.push_back(std::move(graph.values[id]));
  }
  graph.values.resize(first);
  graph.values.insert(graph.values.end(), std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  const auto renumber = [&](std::vector<ValueId>& values) {
    for (ValueId& value : values) {
      if (value != no_id && value >= first) value = new_id[value];
    }
  };
  for (Node& each : graph.nodes) {
    renumber(each.inputs);
    renumber(each.outputs);
  }
  for (Recomputation& made : recomputations_) {
    renumber(made.copies);
    std::erase(made.copies, no_id);
  }
}

Recomputed Recomputing::take() && {
  Recomputed done;
  if (edited_) {
    if (dropped_) drop_values();
    done.new_id = order_nodes(edited_->graph, next_to_);
    number_groups(*edited_, done.new_id);
    list_inputs(*edited_);
    done.fused = std::move(edited_);
  }
  done.recomputations = std::move(recomputations_);
  return done;
}

}  // namespace

Recomputed recompute(const FuseFacts& facts, const FusedGraph& fused) {
  const Graph& graph = facts.graph();
  std::vector<ValueId> stored;
  for (const Group& group : fused.groups) stored.insert(stored.end(), group.outputs.begin(), group.outputs.end());
  std::sort(stored.begin(), stored.end(),
            [&](ValueId a, ValueId b) { return graph.value(a).producer < graph.value(b).producer; });
  Recomputing recomputing(facts, fused);
  for (const ValueId value : stored) recomputing.consider(value);
  return std::move(recomputing).take();
}

}  // namespace kgen
