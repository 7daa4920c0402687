#include "generator/pass/verify/verify_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "generator/pass/verify/most_problems.hpp"
#include "generator/pass/verify/verify_nodes.hpp"

namespace kgen {
namespace {

bool needs_root(GroupKind kind) { return kind == GroupKind::structured || kind == GroupKind::call; }

// Whether a group of that kind may hold such a node, as its root or beside it.
bool may_hold(const Group& of, const NodeKind& node, NodeId id, bool is_root) {
  const GroupKind group = of.kind;
  if (is_root && group == GroupKind::call) return std::holds_alternative<Call>(node);
  if (is_root) return std::holds_alternative<Structured>(node) || std::holds_alternative<Opaque>(node);
  if (std::holds_alternative<Reduction>(node)) {
    const auto has = [&](const std::vector<NodeId>& nodes) {
      return std::binary_search(nodes.begin(), nodes.end(), id);
    };
    return group == GroupKind::rows || has(of.row_state.nodes) || has(of.statistics.nodes);
  }
  return std::holds_alternative<Elementwise>(node) && group != GroupKind::call;
}

bool is_root(const Group& group, NodeId node) {
  return node == group.root || std::find(group.siblings.begin(), group.siblings.end(), node) != group.siblings.end();
}

// Of attributes: their bits, as far as these are numbers.
bool same(const AttributeValue& a, const AttributeValue& b) {
  const auto* number = std::get_if<Number>(&a);
  const auto* other = std::get_if<Number>(&b);
  return number && other ? same_bits(*number, *other) : a == b;
}

class GroupVerifier {
 public:
  explicit GroupVerifier(const FusedGraph& fused) : fused_(fused), graph_(fused.graph) {}

  std::vector<std::string> run() {
    verify_members();
    if (!problems_.empty()) return std::move(problems_);
    ports_.resize(graph_.nodes.size());
    for (const Group& group : fused_.groups) {
      verify_kinds(group);
      verify_siblings(group);
      verify_ports(group);
      verify_row_state(group);
      verify_statistics(group);
    }
    find_memory();
    for (std::uint32_t group = 0; group < fused_.groups.size(); ++group) verify_reads(group);
    verify_stored();
    verify_decisions();
    return std::move(problems_);
  }

 private:
  // Where a node of a kernel's group rides: as the kernel, in a prologue, or in an epilogue.
  struct Port {
    bool rides = false;
    const Prologue* prologue = nullptr;  // null: none
    bool makes_rows = false;             // the numbers of rows
  };
  // How a view has the elements: as they are, but for axes of extent 1; by other axes; or in another order, or not all.
  enum class Order { same, by_other_axes, another };
  // What is known of a value in memory, or of one that a view shows.
  struct Memory {
    ValueId base = no_id;     // past the views that are read in place
    Order order = Order::same;  // of the elements, against the base's
    bool stored = false;      // it comes from outside, or groups write all of it
    bool at_load = false;     // it is there when the model is loaded
    std::uint32_t ready = 0;  // the number of groups that have run when it is there
  };

  void problem(ValueId value, std::string_view what) {
    if (problems_.size() < most_problems) problems_.push_back(fmt::format("'{}' {}", graph_.value(value).name, what));
  }
  void problem_at(NodeId node, std::string_view what) { problem(graph_.nodes[node].outputs[0], what); }
  bool is_view(NodeId node) const { return std::holds_alternative<IndexMap>(graph_.nodes[node].kind); }
  bool is_number(ValueId value) const {
    return graph_.value(value).kind == ValueKind::constant &&
           graph_.constants[graph_.value(value).index].values.size() == 1;
  }

  void verify_members();
  void verify_kinds(const Group& group);
  void verify_siblings(const Group& group);
  void verify_results(const Group& group);
  ValueId number_of_row(const Group& group, ValueId value) const;
  void verify_number_of_row(const Group& group, ValueId input, ValueId taken);
  void verify_row_state(const Group& group);
  void verify_statistics(const Group& group);
  void verify_ports(const Group& group);
  void find_memory();
  void show(const Node& node, const IndexMap& view);
  Order order_of(const Node& node, const IndexMap& view) const;
  void verify_reads(std::uint32_t index);
  void verify_read(std::uint32_t index, ValueId value);
  void verify_stored();
  void verify_decisions();

  const FusedGraph& fused_;
  const Graph& graph_;
  std::vector<std::string> problems_;
  std::vector<Port> ports_;            // by node
  std::vector<Memory> memory_;         // by value
  std::vector<std::uint32_t> listed_;  // by value: the last group that lists it as an input
  std::vector<std::uint32_t> read_;    // by value: the last group that reads it
};

// ---- which node is where --------------------------------------------------------------------------------------------

void GroupVerifier::verify_members() {
  const std::string& name = graph_.name;
  const auto broken = [&](std::string_view what) { problems_.push_back(fmt::format("'{}' {}", name, what)); };
  if (fused_.group_of.size() != graph_.nodes.size()) return broken("does not say for each node which group it is in");
  std::vector<bool> seen(graph_.nodes.size(), false);
  for (std::uint32_t index = 0; index < fused_.groups.size(); ++index) {
    const Group& group = fused_.groups[index];
    if (group.nodes.empty()) return broken("has a group without nodes");
    for (const NodeId id : group.nodes) {
      if (id >= seen.size()) return broken("has a group with a node that does not exist");
      if (seen[id]) problem_at(id, "is in two groups, or twice in one");
      if (fused_.group_of[id] != index) problem_at(id, "is in another group than the graph says");
      seen[id] = true;
    }
    if (!std::is_sorted(group.nodes.begin(), group.nodes.end())) {
      problem_at(group.nodes.front(), "is in a group whose nodes are not in the order of execution");
    }
    for (const auto* values : {&group.inputs, &group.outputs}) {
      for (const ValueId value : *values) {
        if (value >= graph_.values.size()) return broken("has a group that reads or writes what does not exist");
      }
    }
  }
  for (NodeId id = 0; id < seen.size(); ++id) {
    if (is_view(id) && seen[id]) problem_at(id, "is a view, and in a group");
    if (!is_view(id) && !seen[id]) problem_at(id, "is in no group");
  }
}

void GroupVerifier::verify_kinds(const Group& group) {
  for (const NodeId id : group.nodes) {
    if (!may_hold(group, graph_.nodes[id].kind, id, is_root(group, id))) {
      problem_at(id, "is of a kind that its group cannot hold");
    }
  }
  const bool has_root = std::binary_search(group.nodes.begin(), group.nodes.end(), group.root);
  if (has_root != needs_root(group.kind)) problem_at(group.nodes[0], "is in a group that lacks a root, or has one");
  const auto outside = [&](int axis) { return axis < 0 || static_cast<std::size_t>(axis) >= group.loop.size(); };
  if (std::any_of(group.row_axes.begin(), group.row_axes.end(), outside)) {
    problem_at(group.nodes[0], "is in a group that walks rows along an axis that it has not");
  }
}

// A kernel is called once for nodes that differ in the operand alone of which it takes several.
void GroupVerifier::verify_siblings(const Group& group) {
  if (group.siblings.empty() || group.root >= graph_.nodes.size()) return;
  const Node& root = graph_.nodes[group.root];
  const std::size_t own = root.kernel ? several_operand(*root.kernel).value_or(root.inputs.size()) : root.inputs.size();
  if (group.kind != GroupKind::structured || own >= root.inputs.size()) {
    return problem_at(group.root, "has siblings, and no kernel that takes several");
  }
  if (group.siblings.size() >= static_cast<std::size_t>(root.kernel->operands[own].several)) {
    problem_at(group.root, "has more siblings than its kernel takes at once");
  }
  for (const NodeId id : group.siblings) {
    if (!std::binary_search(group.nodes.begin(), group.nodes.end(), id)) continue;  // its port will say so
    const Node& node = graph_.nodes[id];
    bool alike = node.op == root.op && node.kernel == root.kernel && node.inputs.size() == root.inputs.size();
    alike = alike &&
            std::equal(node.attributes.begin(), node.attributes.end(), root.attributes.begin(), root.attributes.end(),
                       [](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); });
    for (std::size_t i = 0; alike && i < node.inputs.size(); ++i) alike = i == own || node.inputs[i] == root.inputs[i];
    if (!alike) problem_at(id, "is called together with a node that differs in more than one operand");
  }
}

// An epilogue takes results of one shape, neighbours in the order of the call; each goes to one at most.
void GroupVerifier::verify_results(const Group& group) {
  const std::vector<NodeId> roots = roots_of(group);
  const std::size_t of_each = graph_.nodes[group.root].outputs.size();
  std::vector<bool> taken(roots.size() * of_each, false);
  for (const Epilogue& epilogue : group.epilogues) {
    if (epilogue.results.empty() || epilogue.results.back() >= taken.size()) {
      return problem_at(group.root, "has an epilogue on a result that it has not");
    }
    const std::size_t first = epilogue.results.front();
    for (std::size_t i = 0; i < epilogue.results.size(); ++i) {
      const std::size_t number = epilogue.results[i];
      if (number >= taken.size() || number != first + i)
        problem_at(group.root, "has an epilogue on results that are apart");
      if (number >= taken.size()) return;
      if (taken[number]) problem_at(group.root, "has two epilogues on one result");
      taken[number] = true;
      const ValueId value = numbered_result(graph_, roots, number);
      if (graph_.type(value).shape != graph_.type(numbered_result(graph_, roots, first)).shape) {
        problem(value, "goes to an epilogue with a result of another shape");
      }
    }
  }
}

// The number of a row that `value` is, or shows through views; no_id: none.
ValueId GroupVerifier::number_of_row(const Group& group, ValueId value) const {
  const std::vector<NodeId>& makers = group.row_state.nodes;
  while (value != no_id && graph_.value(value).kind == ValueKind::result) {
    const NodeId maker = graph_.value(value).producer;
    if (std::binary_search(makers.begin(), makers.end(), maker)) return value;
    if (!is_view(maker)) break;
    value = graph_.nodes[maker].inputs[0];
  }
  return no_id;
}

// Of `input`, which an epilogue on `taken` reads: what a kernel makes of its rows is one number each, of rows as many
// as the result has; and only epilogues on results of which the declaration says so read it.
void GroupVerifier::verify_number_of_row(const Group& group, ValueId input, ValueId taken) {
  const ValueId made = number_of_row(group, input);
  if (made == no_id) return;
  const RowState& state = group.row_state;
  const KernelSignature* kernel = graph_.nodes[group.root].kernel;
  if (!kernel || kernel->results[graph_.value(taken).index].rows.empty()) {
    problem(made, "is made of each row for an epilogue of a kernel that makes no such numbers");
  }
  Shape one = graph_.type(taken).shape;
  if (!one.empty()) one.back() = Dim(1);
  const bool fits = one.size() > 1 && graph_.type(input).shape == one && state.loop.size() == one.size() &&
                    std::equal(one.begin(), one.end() - 1, state.loop.begin()) &&
                    element_count(graph_.type(made).shape) == element_count(one);
  if (!fits) problem(made, "is not one number for each row that its epilogue takes");
  if (std::find(state.results.begin(), state.results.end(), made) == state.results.end()) {
    problem(made, "is read by an epilogue, and not among the numbers that are made of each row");
  }
}

void GroupVerifier::verify_row_state(const Group& group) {
  if (group.row_state.nodes.empty()) return;
  if (group.kind != GroupKind::structured) {
    return problem_at(group.row_state.nodes.front(), "makes numbers of rows for no kernel");
  }
  const std::vector<NodeId> roots = roots_of(group);
  for (const Epilogue& epilogue : group.epilogues) {
    const ValueId taken = numbered_result(graph_, roots, epilogue.results.front());
    for (const NodeId id : epilogue.nodes) {
      for (const ValueId input : graph_.nodes[id].inputs) verify_number_of_row(group, input, taken);
    }
  }
}

// They read what the group stores, in the shape of its kernel's results, and literals; the kernel's declaration says
// that it may be.
void GroupVerifier::verify_statistics(const Group& group) {
  const std::vector<NodeId>& nodes = group.statistics.nodes;
  if (nodes.empty()) return;
  const ValueId of = group.statistics.of;
  if (group.kind != GroupKind::structured || !graph_.nodes[group.root].kernel ||
      graph_.nodes[group.root].kernel->results[0].statistics.empty()) {
    return problem_at(nodes.front(), "makes numbers of rows that no kernel stores");
  }
  const bool stored = std::find(group.outputs.begin(), group.outputs.end(), of) != group.outputs.end();
  if (!stored || graph_.type(of).shape != graph_.type(graph_.nodes[group.root].outputs[0]).shape) {
    problem(of, "is reduced by rows, and not what its kernel stores");
  }
  for (const NodeId id : nodes) {
    for (const ValueId input : graph_.nodes[id].inputs) {
      if (input == no_id || input == of || is_number(input)) continue;
      ValueId made = input;
      while (graph_.value(made).kind == ValueKind::result && is_view(graph_.value(made).producer)) {
        made = graph_.nodes[graph_.value(made).producer].inputs[0];
      }
      const bool own = graph_.value(made).kind == ValueKind::result &&
                       std::binary_search(nodes.begin(), nodes.end(), graph_.value(made).producer);
      if (!own) problem(input, "is read where numbers are made of the rows of another value");
    }
  }
}

// Each node of a kernel's group rides in one port; what a prologue makes ends in its operand.
void GroupVerifier::verify_ports(const Group& group) {
  if (!needs_root(group.kind)) {
    const bool has_ports = !group.prologues.empty() || !group.epilogues.empty() || !group.row_state.nodes.empty() ||
                           !group.statistics.nodes.empty();
    if (has_ports) problem_at(group.nodes[0], "is in a group with ports of no kernel");
    return;
  }
  const std::vector<NodeId> roots = roots_of(group);
  const bool has_roots = std::all_of(roots.begin(), roots.end(), [&](NodeId id) {
    return std::binary_search(group.nodes.begin(), group.nodes.end(), id);
  });
  if (has_roots) verify_results(group);
  const std::uint32_t index = fused_.group_of[group.nodes[0]];
  const auto add = [&](NodeId id, const Port& port) {
    if (id >= ports_.size() || fused_.group_of[id] != index) {
      return problem_at(group.nodes[0], "is in a group with a port for a node of another");
    }
    if (ports_[id].rides) problem_at(id, "rides in two ports");
    ports_[id] = port;
  };
  for (const NodeId root : roots) add(root, {true, nullptr});
  for (const Prologue& prologue : group.prologues) {
    for (const NodeId id : prologue.nodes) add(id, {true, &prologue});
  }
  for (const Epilogue& epilogue : group.epilogues) {
    for (const NodeId id : epilogue.nodes) add(id, {true, nullptr});
  }
  for (const NodeId id : group.row_state.nodes) add(id, {true, nullptr, true});
  for (const NodeId id : group.statistics.nodes) add(id, {true, nullptr});
  for (const NodeId id : group.nodes) {
    if (!ports_[id].rides) problem_at(id, "rides in no port");
    const std::vector<ValueId>& inputs = graph_.nodes[id].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId maker = inputs[i] == no_id ? no_id : graph_.value(inputs[i]).producer;
      const Prologue* prologue = maker == no_id || fused_.group_of[maker] != index ? nullptr : ports_[maker].prologue;
      const bool ends = prologue && is_root(group, id) && i == prologue->operand &&
                        (prologue->reader == no_id || prologue->reader == id);
      const bool stays = !prologue || ports_[id].prologue == prologue || ends;
      if (!stays) problem_at(maker, "leaves the prologue that it rides in");
      const bool made_here = maker != no_id && fused_.group_of[maker] == index;
      if (made_here && ports_[id].makes_rows && !ports_[maker].makes_rows) {
        problem_at(id, "makes a number of a row of what its own kernel makes");
      }
      if (made_here && ports_[maker].makes_rows && is_root(group, id)) {
        problem_at(maker, "is a number of a row, and its kernel reads it from memory");
      }
    }
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

GroupVerifier::Order GroupVerifier::order_of(const Node& node, const IndexMap& view) const {
  using Form = ViewRule::Form;
  if (view.form == Form::squeeze || view.form == Form::unsqueeze) return Order::same;
  if (view.form != Form::reshape) return Order::another;
  const auto axes = [&](ValueId value) {
    Shape shape = graph_.type(value).shape;
    std::erase(shape, Dim(1));
    return shape;
  };
  return axes(node.inputs[0]) == axes(node.outputs[0]) ? Order::same : Order::by_other_axes;
}

// A view that is read in place is there with its operand; what is written in parts, with the last of them.
void GroupVerifier::show(const Node& node, const IndexMap& view) {
  const ValueId result = node.outputs[0];
  if (!writes_operands(view)) {
    memory_[result] = memory_[node.inputs[0]];
    memory_[result].order = std::max(memory_[result].order, order_of(node, view));
    return;
  }
  Memory whole{.base = result, .stored = true, .at_load = true, .ready = 0};
  for (const ValueId part : node.inputs) {
    whole.stored = whole.stored && memory_[part].stored;
    whole.at_load = whole.at_load && memory_[part].at_load;
    whole.ready = std::max(whole.ready, memory_[part].ready);
  }
  if (view.written_through) {  // all of what is written is shown
    whole.base = memory_[node.inputs[0]].base;
    whole.order = std::max(memory_[node.inputs[0]].order, order_of(node, view));
  }
  memory_[result] = whole;
}

void GroupVerifier::find_memory() {
  memory_.resize(graph_.values.size());
  for (ValueId id = 0; id < memory_.size(); ++id) {
    const ValueKind kind = graph_.value(id).kind;
    memory_[id] = {.base = id, .stored = kind != ValueKind::result, .at_load = kind == ValueKind::constant, .ready = 0};
  }
  for (std::uint32_t index = 0; index < fused_.groups.size(); ++index) {
    const Group& group = fused_.groups[index];
    for (const NodeId id : group.nodes) {
      for (const ValueId output : graph_.nodes[id].outputs) {
        memory_[output] = {.base = output, .stored = false, .at_load = group.at_load, .ready = index + 1};
      }
    }
    for (const ValueId output : group.outputs) {
      const NodeId maker = graph_.value(output).producer;
      if (maker == no_id || fused_.group_of[maker] != index)
        problem(output, "is stored by a group that does not make it");
      if (memory_[output].stored) problem(output, "is stored twice");
      if (graph_.value(output).again_of != no_id) problem(output, "is computed again, and stored");
      memory_[output].stored = true;
    }
  }
  for (const Node& node : graph_.nodes) {
    if (const auto* view = std::get_if<IndexMap>(&node.kind)) show(node, *view);
  }
  listed_.assign(memory_.size(), no_id);
  read_.assign(memory_.size(), no_id);
}

// `value` is an operand of a node of the group.
void GroupVerifier::verify_read(std::uint32_t index, ValueId value) {
  read_[value] = index;
  if (listed_[value] == index || is_number(value)) return;  // a number may stand in the text
  const NodeId maker = graph_.value(memory_[value].base).producer;
  const bool made_here = maker != no_id && fused_.group_of[maker] == index;
  if (!made_here) return problem(value, "is read by a group that does not list it as an input");
  const bool kernel = fused_.groups[index].kind == GroupKind::structured;
  if (memory_[value].order > (kernel ? Order::by_other_axes : Order::same)) {
    problem(value, "is read in registers, where its elements are at other positions");
  }
}

void GroupVerifier::verify_reads(std::uint32_t index) {
  const Group& group = fused_.groups[index];
  for (const ValueId input : group.inputs) {
    if (listed_[input] == index) problem(input, "is listed twice as an input of a group");
    listed_[input] = index;
    const Memory& memory = memory_[input];
    if (!memory.stored) problem(input, "is read from memory, but nothing stores it");
    if (memory.ready > index) problem(input, "is read by a group before another makes it");
    if (group.at_load && !memory.at_load) problem(input, "is read at load, but is not there then");
  }
  for (const NodeId id : group.nodes) {
    for (const ValueId input : graph_.nodes[id].inputs) {
      if (input != no_id) verify_read(index, input);
    }
  }
  for (const ValueId input : group.inputs) {
    if (read_[input] != index) problem(input, "is an input of a group that does not read it");
  }
}

void GroupVerifier::verify_stored() {
  for (const ValueId output : graph_.outputs) {
    if (!memory_[output].stored) problem(output, "is an output, but nothing stores it");
  }
  for (const StateData& state : graph_.states) {
    if (state.next != no_id && !memory_[state.next].stored)
      problem(state.next, "is a next value, but nothing stores it");
  }
}

void GroupVerifier::verify_decisions() {
  const auto count = graph_.nodes.size();
  for (const Decision& decision : fused_.decisions) {
    if (decision.producer >= count || decision.consumer >= count || decision.value >= graph_.values.size()) {
      problems_.push_back(fmt::format("'{}' has a decision on what does not exist", graph_.name));
      return;
    }
    const bool together = fused_.group_of[decision.producer] == fused_.group_of[decision.consumer];
    if (decision.fused && !together) problem(decision.value, "is said to be fused, and its nodes are apart");
  }
}

}  // namespace

std::vector<std::string> group_problems(const FusedGraph& fused) { return GroupVerifier(fused).run(); }

}  // namespace kgen
