#include "generator/pass/simplify/rewriting.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "generator/base/ensure.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

// For each form an operator all of whose attributes are parameters of the form.
ViewOps find_view_ops(const OpSet& ops) {
  ViewOps found{};
  for (const OpSpec& op : ops.ops) {
    if (op.kind != OpKind::view || !op.view) continue;
    std::set<std::string_view> parameters;
    for (const auto& [parameter, attribute] : op.view->parameters) parameters.insert(attribute);
    const bool only_parameters = std::all_of(op.attributes.begin(), op.attributes.end(),
                                             [&](const AttributeSpec& each) { return parameters.contains(each.name); });
    const OpSpec*& slot = found[static_cast<std::size_t>(op.view->form)];
    if (only_parameters && !slot) slot = &op;
  }
  return found;
}

ValueId track(Rewriting& rewriting, ValueId id) {
  rewriting.replacement.push_back(id);
  rewriting.named.push_back(false);
  rewriting.observed.push_back(false);
  return id;
}

std::string free_name(Rewriting& rewriting, const std::string& wish) {
  if (!rewriting.names) rewriting.names.emplace(rewriting.graph);
  return rewriting.names->take(wish);
}

// The node of `from` makes `to`, and everybody reads that.
void take_over(Rewriting& rewriting, ValueId to, ValueId from) {
  Value& value = rewriting.graph.value(to);
  value.producer = rewriting.graph.value(from).producer;
  value.index = rewriting.graph.value(from).index;
  rewriting.graph.nodes[value.producer].outputs[value.index] = to;
  rewriting.replacement[from] = to;
  rewriting.replacement[to] = to;
}

// The node that made `value` stays; it copies `from` where it can.
void keep_producer(Rewriting& rewriting, ValueId value, ValueId from) {
  const NodeId id = rewriting.graph.value(value).producer;
  rewriting.removed[id] = false;
  rewriting.replacement[value] = value;
  Node& node = rewriting.graph.nodes[id];
  const OpSpec* copy = rewriting.ops.with_role(OpRole::copy);
  if (!copy || node.op == copy || node.outputs.size() != 1) return;
  node.op = copy;
  node.kernel = rewriting.ops.kernel_of(*copy);
  node.kind = Elementwise{};
  node.inputs = {from};
  node.attributes.clear();
  node.implied = false;
  node.origin = nullptr;
}

void settle(Rewriting& rewriting, ValueId value) {
  const ValueId by = resolve(rewriting, value);
  if (by == value) return;
  const bool can_take =
      rewriting.graph.value(by).kind == ValueKind::result && !rewriting.observed[by] && !rewriting.named[by];
  if (can_take) {
    take_over(rewriting, value, by);
  } else {
    keep_producer(rewriting, value, by);
  }
}

}  // namespace

Rewriting start_rewriting(Graph& graph, const OpSet& ops, Numerics numerics) {
  Rewriting rewriting{graph, ops, numerics, {}, {}, {}, {}, {}, find_view_ops(ops), {}};
  rewriting.replacement.resize(graph.values.size());
  std::iota(rewriting.replacement.begin(), rewriting.replacement.end(), ValueId{0});
  rewriting.observed.resize(graph.values.size());
  rewriting.removed.resize(graph.nodes.size());
  rewriting.named = named_values(graph);
  for (const ValueId output : graph.outputs) rewriting.observed[output] = true;
  for (const StateData& state : graph.states) {
    if (state.next != no_id) rewriting.observed[state.next] = true;
  }
  return rewriting;
}

ValueId resolve(Rewriting& rewriting, ValueId value) {
  auto& replacement = rewriting.replacement;
  ValueId last = value;
  while (replacement[last] != last) last = replacement[last];
  while (replacement[value] != last) value = std::exchange(replacement[value], last);
  return last;
}

void resolve_operands(Rewriting& rewriting, Node& node) {
  for (ValueId& input : node.inputs) {
    if (input != no_id) input = resolve(rewriting, input);
  }
}

bool replace_result(Rewriting& rewriting, NodeId node, ValueId by) {
  const Graph& graph = rewriting.graph;
  ensure(graph.nodes[node].outputs.size() == 1, "a node that is replaced by a value has one result");
  const ValueId result = graph.nodes[node].outputs[0];
  if (rewriting.named[result] || graph.type(result) != graph.type(by)) return false;
  rewriting.replacement[result] = by;
  rewriting.removed[node] = true;
  return true;
}

void settle_observed(Rewriting& rewriting) {
  for (const ValueId output : rewriting.graph.outputs) settle(rewriting, output);
  for (const StateData& state : rewriting.graph.states) {
    if (state.next != no_id) settle(rewriting, state.next);
  }
}

const Node* producer(const Rewriting& rewriting, ValueId value) {
  if (value == no_id || rewriting.graph.value(value).kind != ValueKind::result || rewriting.named[value])
    return nullptr;
  const Node& node = rewriting.graph.nodes[rewriting.graph.value(value).producer];
  return node.outputs.size() == 1 ? &node : nullptr;
}

const std::vector<Number>* elements_of(const Graph& graph, ValueId value) {
  if (value == no_id || graph.value(value).kind != ValueKind::constant) return nullptr;
  const ConstantData& constant = graph.constants[graph.value(value).index];
  return constant.values.empty() ? nullptr : &constant.values;
}

ValueId new_result(Rewriting& rewriting, const std::string& wish, TensorType type, SourceLocation where) {
  return track(rewriting, add_result(rewriting.graph, free_name(rewriting, wish), std::move(type), where));
}

ValueId new_constant(Rewriting& rewriting, const std::string& wish, TensorType type, std::vector<Number> values,
                     SourceLocation where) {
  return track(rewriting,
               add_constant(rewriting.graph, free_name(rewriting, wish), std::move(type), std::move(values), where));
}

}  // namespace kgen
