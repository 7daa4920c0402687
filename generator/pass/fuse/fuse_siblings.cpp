#include "generator/pass/fuse/fuse_siblings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "generator/pass/fuse/fuse_ports.hpp"
#include "generator/pass/graph/attributes.hpp"

namespace kgen {
namespace {

// Beyond so many nodes around their results nobody looks whether siblings would lose an epilogue.
constexpr int most_visits = 64;

// The operand that siblings of `node` give each its own of; nothing where it can have none.
std::optional<std::size_t> own_operand(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (!std::holds_alternative<Structured>(node.kind) || !node.kernel) return std::nullopt;
  const auto operand = several_operand(*node.kernel);
  const bool given = operand && *operand < node.inputs.size() && node.inputs[*operand] != no_id;
  return given && !shared_operands(graph, id).empty() ? operand : std::nullopt;
}

// Whether an epilogue that takes results of two roots, or of one alone, is as good in one call as in two: every node
// that could ride in an epilogue alone must find what it needs of the others in registers.
class EpilogueTrial {
 public:
  EpilogueTrial(const FuseFacts& facts, const FuseOrders& orders, std::vector<NodeId> roots)
      : facts_(facts),
        graph_(facts.graph()),
        orders_(orders),
        roots_(std::move(roots)),
        first_(*std::min_element(roots_.begin(), roots_.end())) {}

  // Why not; empty where it is.
  std::string run() {
    for (const NodeId root : roots_) {
      for (const ValueId output : graph_.nodes[root].outputs) {
        const Shape& shape = graph_.type(output).shape;
        follow(root, output, epilogue_port(graph_.nodes[root], shape, graph_.value(output).index));
      }
    }
    if (why_.empty() && visits_ > most_visits) return "too much reads their results to see that no epilogue is lost";
    return why_;
  }

 private:
  // What a value needs of the roots: nothing; their lanes, where it is in an epilogue with them; or results in memory.
  struct Need {
    enum class Form { nothing, lanes, memory };
    Form form = Form::nothing;
    NodeId root = no_id;
  };

  bool is_root(NodeId node) const { return std::find(roots_.begin(), roots_.end(), node) != roots_.end(); }

  // Whether an epilogue that gives `value` could take the node.
  bool may_ride(NodeId id, ValueId value, const Port& port) const {
    const Node& node = graph_.nodes[id];
    const auto* elementwise = std::get_if<Elementwise>(&node.kind);
    const Shape& shape = graph_.type(value).shape;
    if (!elementwise || !elementwise->line_axes.empty() || graph_.type(node.outputs[0]).shape != shape) return false;
    if (facts_.writes_state(id) || orders_.restricts(id)) return false;
    if (facts_.wants_rows(id) && (facts_.consumers(value).size() > 1 || facts_.kept(value))) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == no_id || is_literal(graph_, node, input) || why_not_read(facts_, port, shape, input).empty();
    });
  }

  // Looks at all that an epilogue of `root` alone could take, from `value` on.
  void follow(NodeId root, ValueId value, const Port& port) {
    for (const NodeId reader : facts_.consumers(value)) {
      if (++visits_ > most_visits || !why_.empty()) return;
      if (!may_ride(reader, value, port) || !followed_.insert(reader).second) continue;
      const NodeId missed = read_from_memory(root, reader, value, port);
      if (missed == root) continue;
      if (missed == no_id) {
        follow(root, graph_.nodes[reader].outputs[0], port);
      } else {
        why_ = fmt::format("'{}' could no longer ride in an epilogue: it needs '{}' from memory", name_of(reader),
                           name_of(missed));
      }
    }
  }

  // Whether the node would rather join what makes the operand than `root`, as that runs later and cannot become one with
  // it: rows, or another kernel.
  bool joins_maker(NodeId root, NodeId node, ValueId operand) const {
    const NodeId maker = graph_.value(operand).producer;
    if (is_root(maker) && maker < root) return false;
    const Shape& shape = graph_.type(graph_.nodes[node].outputs[0]).shape;
    const NodeKind& kind = graph_.nodes[maker].kind;
    if (const auto* reduction = std::get_if<Reduction>(&kind)) {
      return reduction->keepdims && graph_.type(graph_.nodes[maker].inputs[0]).shape == shape;
    }
    return std::holds_alternative<Structured>(kind) && graph_.type(operand).shape == shape;
  }

  // The root whose results the node, which could ride in the epilogue of `root`, needs from memory beside `value`:
  // no_id where none, `root` itself where the node would not ride there in any case.
  NodeId read_from_memory(NodeId root, NodeId reader, ValueId value, const Port& port) {
    for (const ValueId input : graph_.nodes[reader].inputs) {
      if (input == no_id || input == value) continue;
      const Need need = need_of(input, graph_.type(value).shape, port);
      if (need.form == Need::Form::memory) return joins_maker(root, reader, input) ? root : need.root;
    }
    return no_id;
  }

  Need need_of(ValueId value, const Shape& shape, const Port& port) {
    const NodeId maker = graph_.value(value).producer;
    if (graph_.value(value).kind != ValueKind::result || maker < first_ || ++visits_ > most_visits) return {};
    if (is_root(maker)) {
      const bool at_hand = graph_.type(value).shape == shape && graph_.nodes[maker].outputs.size() == 1;
      return {at_hand ? Need::Form::lanes : Need::Form::memory, maker};
    }
    Need need;
    for (const ValueId input : graph_.nodes[maker].inputs) {
      if (input == no_id) continue;
      const Need found = need_of(input, shape, port);
      if (found.form > need.form) need = found;
      const bool rides = graph_.type(input).shape == shape && may_ride(maker, input, port);
      if (found.form == Need::Form::lanes && !rides) return {Need::Form::memory, found.root};
    }
    return need;
  }

  const std::string& name_of(NodeId node) const { return graph_.value(graph_.nodes[node].outputs[0]).name; }

  const FuseFacts& facts_;
  const Graph& graph_;
  const FuseOrders& orders_;
  std::vector<NodeId> roots_;
  NodeId first_;  // nothing before it needs a root
  int visits_ = 0;
  std::unordered_set<NodeId> followed_;
  std::string why_;
};

// Why one call cannot compute `node` and the roots of `group`; empty where it can.
std::string why_not_one_call(const FuseFacts& facts, const FuseGroups& groups, NodeId id, std::uint32_t sibling,
                             std::size_t operand) {
  const Graph& graph = facts.graph();
  const Node& node = graph.nodes[id];
  const GrowingGroup& group = groups.group(sibling);
  const auto most = static_cast<std::size_t>(node.kernel->operands[operand].several);
  if (group.roots.size() >= most) return fmt::format("{} takes at most {} at once", node.kernel->name, most);
  if (group.at_load != facts.at_load(node.outputs[0])) return "one is computed at load, the other at each call";
  const auto needs_it = [&](ValueId input) {
    return input != no_id && groups.group_making(facts.peel(input)) == sibling;
  };
  if (std::any_of(node.inputs.begin(), node.inputs.end(), needs_it)) return "one needs what the other's stub makes";
  const ValueId other = graph.nodes[group.roots.front()].inputs[operand], own = node.inputs[operand];
  const TensorType& type = graph.type(own);
  const TensorType& others = graph.type(other);
  const bool alike = type.dtype == others.dtype && type.structure == others.structure &&
                     (node.kernel->operands[operand].rank >= 0 || type.shape.size() == others.shape.size());
  if (alike) return {};
  return fmt::format("'{}' is {} and '{}' is {}: a call takes several of one type", graph.value(own).name,
                     to_text(type), graph.value(other).name, to_text(others));
}

}  // namespace

bool are_siblings(const Graph& graph, NodeId a, NodeId b) {
  const Node& one = graph.nodes[a];
  const Node& other = graph.nodes[b];
  const auto operand = own_operand(graph, a);
  if (!operand || one.kernel != other.kernel || one.op != other.op || own_operand(graph, b) != operand) return false;
  if (one.tuning != other.tuning) return false;
  if (one.inputs.size() != other.inputs.size() || !same_attributes(one.attributes, other.attributes)) return false;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    if (i != *operand && one.inputs[i] != other.inputs[i]) return false;
  }
  return true;
}

std::vector<ValueId> shared_operands(const Graph& graph, NodeId sibling) {
  const Node& node = graph.nodes[sibling];
  const auto operand = several_operand(*node.kernel);
  std::vector<ValueId> shared;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool listed = std::find(shared.begin(), shared.end(), node.inputs[i]) != shared.end();
    if (i != operand && node.inputs[i] != no_id && !listed) shared.push_back(node.inputs[i]);
  }
  return shared;
}

std::size_t SiblingTable::key_of(NodeId id) const {
  const Node& node = graph_.nodes[id];
  const std::size_t operand = *own_operand(graph_, id);
  std::size_t key = std::hash<const KernelSignature*>{}(node.kernel);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != operand) key = mix(key, node.inputs[i]);
  }
  for (const auto& [name, value] : node.attributes) key = mix(key, hash_of(value));
  return key;
}

NodeId SiblingTable::last(NodeId node) const {
  if (!own_operand(graph_, node)) return no_id;
  const auto found = last_.find(key_of(node));
  return found != last_.end() && are_siblings(graph_, found->second, node) ? found->second : no_id;
}

void SiblingTable::note(NodeId node) {
  if (own_operand(graph_, node)) last_[key_of(node)] = node;
}

Joint with_kernel_sibling(const FuseFacts& facts, const FuseGroups& groups, const FuseOrders& orders, NodeId id,
                          std::uint32_t sibling, const std::vector<Prologue>& prologues) {
  const std::size_t operand = *several_operand(*facts.graph().nodes[id].kernel);
  std::string why = why_not_one_call(facts, groups, id, sibling, operand);
  if (!why.empty()) return {std::nullopt, std::move(why)};
  GrowingGroup joint = groups.group(sibling);
  joint.roots.push_back(id);
  joint.prologues.insert(joint.prologues.end(), prologues.begin(), prologues.end());
  std::string lost = EpilogueTrial(facts, orders, joint.roots).run();
  return {std::move(joint), std::move(lost)};
}

std::vector<NodeId> call_order(const Graph& graph, const GrowingGroup& group) {
  std::vector<NodeId> order;
  const auto add = [&](NodeId root) {
    if (std::find(order.begin(), order.end(), root) == order.end()) order.push_back(root);
  };
  for (const NodeId root : group.roots) {
    add(root);
    for (const ValueId output : graph.nodes[root].outputs) {
      const Epilogue* epilogue = epilogue_of(group.epilogues, *result_number(graph, group.roots, output));
      if (!epilogue) continue;
      for (const std::size_t taken : epilogue->results) {
        add(graph.value(numbered_result(graph, group.roots, taken)).producer);
      }
    }
  }
  return order;
}

}  // namespace kgen
