#include "generator/pass/choose/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/choose/expansion_value.hpp"
#include "generator/pass/choose/tune_kernels.hpp"
#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/widening.hpp"

namespace kgen {
namespace {

// A graph while forms are put in place, and what has been made of it so far.
struct Preparer {
  Graph& graph;
  const OpSet& ops;
  KernelTable kernels;
  const DimRanges& ranges;
  Diagnostics& diagnostics;
  UniqueNames names;
  LoadValues constants;
  std::vector<Node> nodes;
  // What forms compute at load, by operator and operands: with the attributes that they give it.
  std::map<std::pair<const OpSpec*, std::vector<ValueId>>, std::vector<std::pair<Attributes, Node>>> at_load;
  std::vector<ValueId> left;  // operands that a form no longer reads
};

// One node while it becomes a form.
struct Form {
  const Node& node;
  const Expansion& form;
  std::map<std::string, ValueId> values;  // by name in the form
  std::vector<std::string> at_load;
};

bool fail(Preparer& state, const Form& at, SourceLocation where, const std::string& problem) {
  state.diagnostics.error(where, fmt::format("a prepared form of '{}' {}", at.node.op->name, problem))
      .note(at.node.where, "used here");
  return false;
}

bool are_constant(const Preparer& state, const std::vector<ValueId>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](ValueId id) { return id == no_id || state.constants.contains(id); });
}

// The constant that a value shows or converts; else the value itself.
ValueId shown_constant(const Graph& graph, ValueId value) {
  ValueId at = value;
  while (graph.value(at).kind == ValueKind::result && graph.value(at).producer != no_id) {
    const Node& maker = graph.nodes[graph.value(at).producer];
    const bool shows = std::holds_alternative<IndexMap>(maker.kind) || (maker.op && maker.op->role == OpRole::cast);
    if (!shows || maker.inputs.size() != 1) return value;
    at = maker.inputs[0];
  }
  return graph.value(at).kind == ValueKind::constant ? at : value;
}

// Which result of the operator has that name.
std::optional<std::size_t> result_index(const OpSpec& op, const std::string& name) {
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (op.results[i].name == name) return i;
  }
  return std::nullopt;
}

// The values that stand for the outputs of a form's node: the results of the node that it replaces, or new ones.
std::vector<ValueId> output_values(Preparer& state, const Form& at, const ExpansionNode& from, const Node& made,
                                   bool at_load) {
  std::vector<ValueId> outputs;
  for (const std::string& name : from.outputs) {
    if (const auto result = result_index(*at.node.op, name)) {
      outputs.push_back(at.node.outputs[*result]);
      continue;
    }
    const ValueId after =
        at_load && !made.inputs.empty() ? shown_constant(state.graph, made.inputs[0]) : at.node.outputs[0];
    const std::string wish = fmt::format("{}_{}", state.graph.value(after).name, name);
    outputs.push_back(add_result(state.graph, state.names.take(wish), {}, at.node.where));
    state.graph.value(outputs.back()).local = name;
  }
  return outputs;
}

// Types the node and finds its kernel. Its results of `at.node` keep the types that they have.
bool complete(Preparer& state, const Form& at, const ExpansionNode& from, Node& node) {
  std::vector<std::optional<TensorType>> declared;
  for (const ValueId output : node.outputs) {
    const auto& results = at.node.outputs;
    const bool is_result = std::find(results.begin(), results.end(), output) != results.end();
    declared.push_back(is_result ? state.graph.value(output).type : std::nullopt);
  }
  if (!infer_node(state.graph, node, state.ranges, state.diagnostics)) {
    return fail(state, at, from.where, fmt::format("cannot be typed at '{}'", node.op->name));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorType& made = state.graph.type(node.outputs[i]);
    if (!declared[i] || made == *declared[i]) continue;
    return fail(
        state, at, from.where,
        fmt::format("makes '{}' a {}, but it must be a {}", from.outputs[i], to_text(made), to_text(*declared[i])));
  }
  state.constants.add(node);
  choose_kernel(state.graph, node, state.kernels, state.ranges, state.constants, state.diagnostics);
  return !state.diagnostics.has_errors();
}

// `value` as the type that `like` has: itself, or a cast of it.
ValueId widened(Preparer& state, const Form& at, ValueId value, ValueId like) {
  const TensorType& type = state.graph.type(value);
  const DType dtype = state.graph.type(like).dtype;
  if (type.dtype == dtype) return value;
  const std::string wish = fmt::format("{}_{}", state.graph.value(value).name, info(dtype).name);
  const ValueId cast = add_result(state.graph, state.names.take(wish), {dtype, type.shape}, at.node.where);
  const OpSpec* op = state.ops.with_role(OpRole::cast);
  Node node{.op = op,
            .kernel = state.ops.kernel_of(*op),
            .kind = Elementwise{},
            .inputs = {value},
            .outputs = {cast},
            .attributes = attributes_of_cast(*op, dtype),
            .where = at.node.where,
            .within = at.node.op->name,
            .implied = true};
  state.constants.add(node);
  state.nodes.push_back(std::move(node));
  return cast;
}

// A result of a node that a form has added.
bool is_new(const Preparer& state, ValueId value) {
  return state.graph.value(value).kind == ValueKind::result && state.graph.value(value).producer == no_id;
}

// The outputs of a node that is computed at load: those of an equal one, where a form has made it before.
bool add_at_load(Preparer& state, Form& at, const ExpansionNode& from, Node node) {
  const std::vector<ValueId> asked = node.inputs;
  const auto is_result = [&](const std::string& name) { return result_index(*at.node.op, name).has_value(); };
  const bool makes_result = std::any_of(from.outputs.begin(), from.outputs.end(), is_result);
  const bool moves = node.op->algebra.moves && node.op->operands.size() == 1 && !makes_result;
  if (moves && !is_new(state, asked[0])) {
    const ValueId narrow = before_widening(state.graph, asked[0]);
    if (takes_first(*node.op, state.graph.type(narrow).dtype)) node.inputs = {narrow};
  }
  auto& known = state.at_load[{node.op, node.inputs}];
  const auto same = [&](const auto& each) { return each.first == node.attributes; };
  auto found = makes_result ? known.end() : std::find_if(known.begin(), known.end(), same);
  if (found == known.end()) {
    node.outputs = output_values(state, at, from, node, true);
    node.within = at.node.op->name;
    Attributes given = node.attributes;
    if (!complete(state, at, from, node)) return false;
    state.nodes.push_back(node);
    found = known.emplace(known.end(), std::move(given), std::move(node));
  }
  const Node& made = found->second;
  for (std::size_t i = 0; i < from.outputs.size(); ++i) {
    at.at_load.push_back(state.graph.value(made.outputs[i]).name);
    at.values[from.outputs[i]] =
        made.inputs == asked ? made.outputs[i] : widened(state, at, made.outputs[i], asked[0]);
  }
  return true;
}

std::optional<ValueId> input_value(Preparer& state, const Form& at, const NodeScope& scope, const ExpansionNode& node,
                                   const Expression& input) {
  if (const auto found = at.values.find(input.text); found != at.values.end()) return found->second;
  const auto number = number_at({scope, state.diagnostics}, input, node.where);
  if (!number) return std::nullopt;
  const std::string wish = state.graph.value(at.node.outputs[0]).name + "_" + node.outputs[0] + "_constant";
  return add_constant(state.graph, state.names.take(wish), std::nullopt, {*number}, at.node.where);
}

bool add_node(Preparer& state, Form& at, const ExpansionNode& from) {
  const NodeScope scope = scope_at(state.graph, at.node, state.ranges, state.constants);
  Node node{.op = state.ops.find(from.op), .where = at.node.where, .within = at.node.within, .origin = &from};
  for (const Expression& input : from.inputs) {
    const auto value = input_value(state, at, scope, from, input);
    if (!value) return false;
    const std::vector<OperandSpec>& operands = node.op->operands;
    if (*value == no_id && !operands[std::min(node.inputs.size(), operands.size() - 1)].optional) {
      return fail(state, at, from.where, fmt::format("needs '{}' at '{}', but it was left out", input.text, from.op));
    }
    node.inputs.push_back(*value);
  }
  for (const auto& [name, given] : from.attributes) {
    auto value = attribute_at({scope, state.diagnostics}, *node.op->attribute(name), given, from.where);
    if (!value) return false;
    node.attributes.emplace_back(name, std::move(*value));
  }
  if (are_constant(state, node.inputs)) return add_at_load(state, at, from, std::move(node));
  node.outputs = output_values(state, at, from, node, false);
  if (!complete(state, at, from, node)) return false;
  for (std::size_t i = 0; i < from.outputs.size(); ++i) at.values[from.outputs[i]] = node.outputs[i];
  state.nodes.push_back(std::move(node));
  return true;
}

// ---- which form -----------------------------------------------------------------------------------------------------

// The namespace of a kernel: whose it is.
std::string_view library_of(std::string_view kernel) { return kernel.substr(0, kernel.rfind("::")); }

// The form that the node becomes, and why; null: none, and why not. Every form is asked for its condition.
std::pair<const Expansion*, std::string> choose_form(const Preparer& state, const Node& node) {
  if (library_of(node.kernel->name) != library_of(node.op->kernel)) {
    return {nullptr, fmt::format("{} was chosen for it", node.kernel->name)};
  }
  const NodeScope scope = scope_at(state.graph, node, state.ranges, state.constants);
  std::string why_not;
  for (const Expansion& form : node.op->prepared) {
    const Proof proof = prove(scope, form.when);
    const std::string facts = facts_of(scope, form.when);
    const std::string where = facts.empty() ? "" : ": " + facts;
    if (proof == Proof::always) return {&form, fmt::format("'{}' holds{}", form.when.text, where)};
    why_not += fmt::format("{}'{}' does not hold{}{}", why_not.empty() ? "" : ", and ", form.when.text,
                           proof == Proof::never ? "" : " for all sizes", where);
  }
  return {nullptr, why_not};
}

bool may_be_prepared(const Preparer& state, const Node& node) {
  const auto is_constant = [&](ValueId id) { return id != no_id && state.constants.contains(id); };
  const auto is_for_target = [&](const Expansion& form) {
    return !holds_never(*node.op, form.when, state.graph.target);
  };
  return node.op && node.kernel && !state.constants.contains(node.outputs[0]) &&
         std::any_of(node.op->prepared.begin(), node.op->prepared.end(), is_for_target) &&
         std::any_of(node.inputs.begin(), node.inputs.end(), is_constant);
}

// False after a report.
bool prepare_node(Preparer& state, const Node& node) {
  auto [form, reason] = choose_form(state, node);
  Preparation record{state.graph.value(node.outputs[0]).name, node.op, form != nullptr, std::move(reason), {}};
  if (!form) {
    state.nodes.push_back(node);
  } else {
    Form at{node, *form, {}, {}};
    for (std::size_t i = 0; i < node.op->operands.size(); ++i) {
      at.values[node.op->operands[i].name] = i < node.inputs.size() ? node.inputs[i] : no_id;
    }
    for (const ExpansionNode& each : form->nodes) {
      if (!add_node(state, at, each)) return false;
    }
    state.left.insert(state.left.end(), node.inputs.begin(), node.inputs.end());
    record.at_load = std::move(at.at_load);
  }
  state.graph.preparations.push_back(std::move(record));
  return true;
}

// Drops what only the replaced nodes read: a conversion of a weight, say.
void drop_left(Graph& graph, std::vector<ValueId> left) {
  std::vector<std::uint32_t> readers = count_readers(graph);
  const std::vector<bool> named = named_values(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  while (!left.empty()) {
    const ValueId value = left.back();
    left.pop_back();
    const NodeId maker = value == no_id ? no_id : graph.value(value).producer;
    if (maker == no_id || removed[maker]) continue;
    const Node& node = graph.nodes[maker];
    const auto is_read = [&](ValueId output) { return readers[output] > 0 || named[output]; };
    if (std::any_of(node.outputs.begin(), node.outputs.end(), is_read)) continue;
    removed[maker] = true;
    std::vector<ValueId> inputs = node.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (const ValueId input : inputs) {
      if (input == no_id) continue;
      --readers[input];
      left.push_back(input);
    }
  }
  drop_nodes(graph, removed);
  drop_unused_values(graph);
}

void prepare_graph(Graph& graph, const OpSet& ops, const DimRanges& ranges, Diagnostics& diagnostics) {
  const auto has_form = [](const Node& node) { return node.op && !node.op->prepared.empty(); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), has_form)) return;
  Preparer state{graph, ops, {ops, {}}, ranges, diagnostics, UniqueNames(graph), LoadValues(graph), {}, {}, {}};
  const auto is_prepared = [&](const Node& node) { return may_be_prepared(state, node); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_prepared)) return;
  for (const Node& node : graph.nodes) {
    if (!may_be_prepared(state, node)) {
      state.nodes.push_back(node);
    } else if (!prepare_node(state, node)) {
      return;
    }
  }
  graph.nodes = std::move(state.nodes);
  number_producers(graph);
  if (!state.left.empty()) drop_left(graph, std::move(state.left));
}

}  // namespace

Module prepare(Module module, const OpSet& ops, Diagnostics& diagnostics) {
  const DimRanges ranges = ranges_of(module.main);
  const auto prepare_each = [&](Graph& graph) {
    prepare_graph(graph, ops, ranges, diagnostics);
    if (!diagnostics.has_errors()) tune_kernels(graph, ops, ranges);
  };
  for (Graph& function : module.functions) prepare_each(function);
  prepare_each(module.main);
  return module;
}

}  // namespace kgen
