#include "generator/pass/choose/decompose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "generator/base/contains.hpp"
#include "generator/base/ensure.hpp"
#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/choose/expansion_value.hpp"
#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/contraction.hpp"
#include "generator/spec/widening.hpp"

namespace kgen {
namespace {

constexpr int deepest_expansion = 16;

bool is_low_precision(DType dtype) { return info(dtype).floating && compute_dtype(dtype) != dtype; }

// A graph while its composites are expanded, and what has been made of it so far.
struct Decomposition {
  Graph& graph;
  const OpSet& ops;
  const OpSpec* cast;
  KernelTable& kernels;
  const DimRanges& ranges;
  Diagnostics& diagnostics;
  UniqueNames names;
  LoadValues constants;
  std::vector<Node> nodes;
};

// One composite node while it is expanded.
struct Expanding {
  const Node& composite;
  const Expansion& expansion;
  int depth = 0;
  std::string within;
  std::map<std::string, std::vector<ValueId>> values;  // by name in the expansion; several for a variadic operand
  std::map<std::pair<ValueId, DType>, ValueId> casts;  // the value as another dtype
  std::map<std::string, DType> rounded_names;          // see names_to_round
};

bool expand(Decomposition& state, const Node& composite, const std::string& within, int depth);

// "the expansion of 'softmax' ..." at the expansion.
bool fail(Decomposition& state, const Expanding& at, SourceLocation where, const std::string& problem) {
  const OpSpec& op = *at.composite.op;
  state.diagnostics.error(where.known() ? where : op.where, fmt::format("the expansion of '{}' {}", op.name, problem))
      .note(at.composite.where, "expanded here");
  return false;
}

NodeScope scope_of(const Decomposition& state, const Node& composite) {
  return scope_at(state.graph, composite, state.ranges, state.constants);
}

const std::string& result_name(const Decomposition& state, const Expanding& at) {
  return state.graph.value(at.composite.outputs[0]).name;
}

// The dtype of a result of the composite; nothing where `name` is none.
std::optional<DType> result_dtype(const Decomposition& state, const Expanding& at, const std::string& name) {
  const auto& results = at.composite.op->results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].name == name) return state.graph.type(at.composite.outputs[i]).dtype;
  }
  return std::nullopt;
}

// Rule: the results of low precision, and what only views read that lead to nothing but one of them, by name: views may
// make them rounded. What an inner node computes on is left in f32.
std::map<std::string, DType> names_to_round(const Decomposition& state, const Expanding& at) {
  const auto is_low = [&](ValueId result) { return is_low_precision(state.graph.type(result).dtype); };
  if (std::none_of(at.composite.outputs.begin(), at.composite.outputs.end(), is_low)) return {};
  std::map<std::string, DType> dtypes;
  std::map<std::string, bool> computed_on;  // read by a node that computes
  for (auto node = at.expansion.nodes.rbegin(); node != at.expansion.nodes.rend(); ++node) {
    const OpSpec* op = state.ops.find(node->op);
    const bool is_view = op && op->kind == OpKind::view;
    std::optional<DType> dtype;
    for (const std::string& output : node->outputs) {
      if (computed_on[output]) continue;
      if (const auto result = result_dtype(state, at, output)) dtypes[output] = *result;
      if (const auto found = dtypes.find(output); found != dtypes.end()) dtype = found->second;
    }
    for (const Expression& input : node->inputs) {
      const auto known = dtypes.find(input.text);
      if (is_view && dtype && (known == dtypes.end() || known->second == *dtype)) {
        dtypes[input.text] = *dtype;
      } else {
        computed_on[input.text] = true;
      }
    }
  }
  std::erase_if(dtypes, [&](const auto& each) { return computed_on[each.first] || !is_low_precision(each.second); });
  return dtypes;
}

ValueId add_cast(Decomposition& state, const Expanding& at, ValueId from, ValueId to) {
  Node node{.op = state.cast,
            .kernel = state.ops.kernel_of(*state.cast),
            .kind = Elementwise{},
            .inputs = {from},
            .outputs = {to},
            .attributes = attributes_of_cast(*state.cast, state.graph.type(to).dtype),
            .where = at.composite.where,
            .within = at.within,
            .implied = true};
  state.constants.add(node);
  state.nodes.push_back(std::move(node));
  return to;
}

// The value as `dtype`: itself, or a cast of it, made once for each composite.
ValueId as_dtype(Decomposition& state, Expanding& at, ValueId value, DType dtype, const std::string& name) {
  const TensorType& type = state.graph.type(value);
  if (type.dtype == dtype) return value;
  if (const auto found = at.casts.find({value, dtype}); found != at.casts.end()) return found->second;
  const std::string wish = fmt::format("{}_{}_{}", result_name(state, at), name, info(dtype).name);
  const ValueId cast = add_result(state.graph, state.names.take(wish), {dtype, type.shape}, at.composite.where);
  state.graph.value(cast).local = fmt::format("{}_{}", name, info(dtype).name);
  at.casts.emplace(std::pair(value, dtype), cast);
  return add_cast(state, at, value, cast);
}

// What an input of an expansion's node stands for: the values of a name, or a number.
std::optional<std::vector<ValueId>> input_values(Decomposition& state, Expanding& at, const ExpansionNode& node,
                                                 const Expression& input) {
  if (const auto found = at.values.find(input.text); found != at.values.end()) return found->second;
  const auto number = number_at({scope_of(state, at.composite), state.diagnostics}, input, node.where);
  if (!number) return std::nullopt;
  const std::string name = fmt::format("{}_{}_constant", result_name(state, at), node.outputs[0]);
  return std::vector{add_constant(state.graph, state.names.take(name), std::nullopt, {*number}, at.composite.where)};
}

// Whether the operator's operand may be of f32; those that are not known may.
bool takes_f32(const OpSpec& op, std::size_t operand) {
  if (operand >= op.operands.size()) return true;
  const std::string& type = op.operands[operand].type;
  const auto variable = op.types.find(type);
  return variable == op.types.end() ? !dtype_from_name(type) || type == "f32" : contains(variable->second, DType::f32);
}

// Rule: what computes sees f32 in place of lower precision. Casts and what takes no f32 take what there is, and so do
// views, rounded where they lead to nothing but a result. What a kernel computes as well is no composite: its expansion
// sees what it is given.
void choose_precision(Decomposition& state, Expanding& at, const OpSpec& op, const ExpansionNode& node,
                      std::vector<std::pair<ValueId, std::string>>& inputs) {
  if (op.role == OpRole::cast || at.composite.op->kind != OpKind::composite) return;
  const auto dtype_of = [&](ValueId id) -> std::optional<DType> {
    const bool typed = id != no_id && state.graph.value(id).type;
    return typed ? std::optional(state.graph.type(id).dtype) : std::nullopt;
  };
  const auto is_low = [&](const auto& input) { return is_low_precision(dtype_of(input.first).value_or(DType::f32)); };
  const auto rounded = at.rounded_names.find(node.outputs[0]);
  const bool round = op.kind == OpKind::view && rounded != at.rounded_names.end();
  if (op.kind == OpKind::view && !round && std::all_of(inputs.begin(), inputs.end(), is_low)) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& input = inputs[i];
    auto& [id, name] = input;
    if (round && (is_low(input) || dtype_of(id) == DType::f32)) {
      id = as_dtype(state, at, id, rounded->second, name);
    } else if (is_low(input) && takes_f32(op, i)) {
      id = as_dtype(state, at, id, DType::f32, name);
    }
  }
}

bool read_attributes(Decomposition& state, const Expanding& at, const ExpansionNode& from, const OpSpec& op,
                     Node& node) {
  const NodeScope composite = scope_of(state, at.composite);
  for (const auto& [name, given] : from.attributes) {
    const AttributeSpec* spec = op.attribute(name);
    if (!spec) return fail(state, at, from.where, fmt::format("gives '{}' an unknown attribute '{}'", op.name, name));
    auto value = attribute_at({composite, state.diagnostics}, *spec, given, from.where);
    if (!value) return false;
    node.attributes.emplace_back(name, std::move(*value));
  }
  return true;
}

// The value that stands for an output of an expansion's node: the composite's own result, or a new one.
ValueId output_value(Decomposition& state, const Expanding& at, const std::string& name) {
  const auto& results = at.composite.op->results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].name == name) return at.composite.outputs[i];
  }
  const std::string full_name = state.names.take(result_name(state, at) + "_" + name);
  const ValueId made = add_result(state.graph, full_name, {}, at.composite.where);
  state.graph.value(made).local = name;
  return made;
}

// Types the node. A result of the composite that comes out in another dtype is computed as a value of its own
// (`declared` holds the types that results must have), and `casts` lists what must then be converted to what.
bool type_node(Decomposition& state, const Expanding& at, const ExpansionNode& from, Node& node,
               std::vector<std::pair<ValueId, ValueId>>& casts) {
  std::vector<std::optional<TensorType>> declared;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool is_result = result_dtype(state, at, from.outputs[i]).has_value();
    declared.push_back(is_result ? state.graph.value(node.outputs[i]).type : std::nullopt);
  }
  if (!infer_node(state.graph, node, state.ranges, state.diagnostics)) {
    return fail(state, at, from.where, fmt::format("cannot be typed at '{}'", node.op->name));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!declared[i]) continue;
    const ValueId result = node.outputs[i];
    const TensorType made = state.graph.type(result);
    state.graph.value(result).type = declared[i];
    if (made.shape != declared[i]->shape) {
      return fail(
          state, at, from.where,
          fmt::format("makes '{}' a {}, but it must be a {}", from.outputs[i], to_text(made), to_text(*declared[i])));
    }
    if (made.dtype == declared[i]->dtype) continue;
    const std::string wish = fmt::format("{}_{}", state.graph.value(result).name, info(made.dtype).name);
    node.outputs[i] = add_result(state.graph, state.names.take(wish), made, at.composite.where);
    state.graph.value(node.outputs[i]).local = fmt::format("{}_{}", from.outputs[i], info(made.dtype).name);
    casts.emplace_back(node.outputs[i], result);
  }
  return true;
}

// The expansion whose condition holds; null where there is none.
const Expansion* find_expansion(const Decomposition& state, const Node& node) {
  const NodeScope scope = scope_of(state, node);
  for (const Expansion& expansion : node.op->expansions) {
    if (expansion.when.empty() || prove(scope, expansion.when) == Proof::always) return &expansion;
  }
  return nullptr;
}

// Composites always; what has a kernel, where its operator's specification says so.
bool is_expanded(const Decomposition& state, const Node& node) {
  if (std::holds_alternative<Composite>(node.kind)) return true;
  return node.op && node.op->kind != OpKind::composite && find_expansion(state, node) != nullptr;
}

bool add_node(Decomposition& state, Expanding& at, const ExpansionNode& from) {
  const OpSpec* op = state.ops.find(from.op);
  if (!op) return fail(state, at, from.where, fmt::format("uses an unknown operator '{}'", from.op));
  std::vector<std::pair<ValueId, std::string>> inputs;
  for (const Expression& input : from.inputs) {
    const auto values = input_values(state, at, from, input);
    if (!values) return false;
    for (const ValueId value : *values) inputs.emplace_back(value, input.text);
  }
  choose_precision(state, at, *op, from, inputs);

  Node node{.op = op, .where = at.composite.where, .within = at.within, .origin = &from};
  for (const auto& [value, name] : inputs) {
    const OperandSpec& operand = op->operands[std::min(node.inputs.size(), op->operands.size() - 1)];
    if (value == no_id && !operand.optional) {
      return fail(state, at, from.where, fmt::format("needs '{}' at '{}', but it was left out", name, op->name));
    }
    node.inputs.push_back(value);
  }
  for (const std::string& output : from.outputs) node.outputs.push_back(output_value(state, at, output));
  std::vector<std::pair<ValueId, ValueId>> casts;
  if (!read_attributes(state, at, from, *op, node) || !type_node(state, at, from, node, casts)) return false;
  state.constants.add(node);
  choose_kernel(state.graph, node, state.kernels, state.ranges, state.constants, state.diagnostics);

  const std::vector<ValueId> made = node.outputs;
  for (std::size_t i = 0; i < from.outputs.size(); ++i) at.values[from.outputs[i]] = {made[i]};
  if (is_expanded(state, node)) {
    if (!expand(state, node, at.within, at.depth + 1)) return false;
  } else {
    state.nodes.push_back(std::move(node));
  }
  for (const auto& [from_value, to_value] : casts) {
    add_cast(state, at, from_value, to_value);
    at.casts.emplace(std::pair(from_value, state.graph.type(to_value).dtype), to_value);
  }
  return true;
}

// ---- contractions ---------------------------------------------------------------------------------------------------

// The step's attributes, under the names that its operator has for them.
Attributes attributes_of(const ContractionStep& step, const OpSpec& op) {
  const auto named = [&](const char* parameter) { return op.view->parameters.at(parameter); };
  const std::vector<Dim> axes(step.axes.begin(), step.axes.end());
  switch (step.part) {
    case ContractionRule::Part::permute:
      return {{named("axes"), axes}};
    case ContractionRule::Part::reshape:
      return {{named("shape"), step.shape}};
    case ContractionRule::Part::slice:
      return {{named("axis"), std::int64_t{-1}},
              {named("begin"), Dim(0)},
              {named("end"), Dim(step.extent * step.extent)},
              {named("step"), step.extent + 1}};
    case ContractionRule::Part::sum:
      return {{"axes", axes}};
    default:
      return {};
  }
}

// Appends the nodes of a contraction. Values between them are of its operands' dtype: products and sums accumulate.
bool expand_contraction(Decomposition& state, const Node& composite, const ContractionRule& rule,
                        const std::string& within, int depth) {
  std::vector<std::size_t> ranks;
  std::vector<Shape> shapes;
  for (const ValueId input : composite.inputs) {
    shapes.push_back(state.graph.type(input).shape);
    ranks.push_back(shapes.back().size());
  }
  std::string problem;
  const auto equation =
      read_equation(std::get<std::string>(*find_attribute(composite.attributes, rule.equation)), ranks, problem);
  ensure(equation.has_value(), "infer has read the equation");
  const auto operator_of = [&](ContractionRule::Part part) { return state.ops.find(rule.operators.at(part)); };
  const bool has_product =
      takes_first(*operator_of(ContractionRule::Part::product), state.graph.type(composite.inputs[0]).dtype);
  const std::string name = state.graph.value(composite.outputs[0]).name;  // as values are added
  std::vector<ValueId> values = composite.inputs;
  const auto steps = contraction_steps(*equation, shapes, has_product);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const OpSpec& op = *operator_of(steps[i].part);
    Node node{.op = &op, .attributes = attributes_of(steps[i], op), .where = composite.where, .within = within};
    for (const std::size_t input : steps[i].inputs) node.inputs.push_back(values[input]);
    ValueId made = composite.outputs[0];
    if (i + 1 < steps.size()) {
      made = add_result(state.graph, state.names.take(fmt::format("{}_{}", name, op.name)), {}, composite.where);
      state.graph.value(made).local = op.name;
    }
    node.outputs = {made};
    values.push_back(made);
    if (!infer_node(state.graph, node, state.ranges, state.diagnostics)) return false;
    state.constants.add(node);
    choose_kernel(state.graph, node, state.kernels, state.ranges, state.constants, state.diagnostics);
    if (!is_expanded(state, node)) {
      state.nodes.push_back(std::move(node));
    } else if (!expand(state, node, within, depth + 1)) {
      return false;
    }
  }
  return true;
}

// Null after a report.
const Expansion* choose_expansion(Decomposition& state, const Node& composite) {
  if (const Expansion* found = find_expansion(state, composite)) return found;
  state.diagnostics.error(composite.where, fmt::format("no expansion of '{}' applies here", composite.op->name))
      .advise("give the operator a last expansion without `when`");
  return nullptr;
}

void bind_operands(const Node& composite, Expanding& at) {
  const auto& operands = composite.op->operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::vector<ValueId>& values = at.values[operands[i].name];
    if (operands[i].variadic) {
      values.assign(composite.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(i, composite.inputs.size())),
                    composite.inputs.end());
    } else {
      values = {i < composite.inputs.size() ? composite.inputs[i] : no_id};
    }
  }
}

// Appends the nodes that the composite stands for. False after a report.
bool expand(Decomposition& state, const Node& composite, const std::string& within, int depth) {
  if (depth > deepest_expansion) {
    state.diagnostics
        .error(composite.where,
               fmt::format("the expansion of '{}' is more than {} composites deep", within, deepest_expansion))
        .note(composite.op->where, fmt::format("the innermost is '{}'", composite.op->name))
        .advise("an operator must not expand into itself");
    return false;
  }
  if (const auto& rule = composite.op->contraction) return expand_contraction(state, composite, *rule, within, depth);
  const Expansion* expansion = choose_expansion(state, composite);
  if (!expansion) return false;
  Expanding at{composite, *expansion, depth, within, {}, {}, {}};
  bind_operands(composite, at);
  at.rounded_names = names_to_round(state, at);
  for (const ExpansionNode& node : expansion->nodes) {
    if (!add_node(state, at, node)) return false;
  }
  for (const ResultSpec& result : composite.op->results) {
    if (!at.values.contains(result.name)) return fail(state, at, {}, fmt::format("does not make '{}'", result.name));
  }
  return true;
}

void decompose_graph(Graph& graph, const OpSpec* cast, KernelTable& kernels, const DimRanges& ranges,
                     Diagnostics& diagnostics) {
  const auto may_expand = [](const Node& node) {
    return node.op && (node.op->kind == OpKind::composite || !node.op->expansions.empty());
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), may_expand)) return;
  Decomposition state{graph, kernels.ops, cast, kernels, ranges, diagnostics, UniqueNames(graph), LoadValues(graph),
                      {}};
  const std::vector<std::uint32_t> readers = count_readers(graph);
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<Composite>(node.kind)) warn_if_unread(graph, node, readers, diagnostics);
  }
  std::vector<Node> nodes = std::move(graph.nodes);
  // Vectors of so many nodes and values that grow step by step take a third of the time.
  std::size_t count = 0;
  for (const Node& node : nodes) {
    count += node.op && !node.op->expansions.empty() ? node.op->expansions.front().nodes.size() : 1;
  }
  state.nodes.reserve(count);
  graph.values.reserve(graph.values.size() + count - nodes.size());
  for (Node& node : nodes) {
    if (!is_expanded(state, node)) {
      state.nodes.push_back(std::move(node));
    } else if (!expand(state, node, node.op->name, 1)) {
      return;
    }
  }
  graph.nodes = std::move(state.nodes);
  number_producers(graph);
}

}  // namespace

Module decompose(Module module, const OpSet& ops, Diagnostics& diagnostics) {
  const OpSpec* cast = ops.with_role(OpRole::cast);
  if (!cast) {
    diagnostics.error({}, "no operator has the role `cast`").advise("give one of the specs `role: cast`");
    return module;
  }
  const DimRanges ranges = ranges_of(module.main);
  KernelTable kernels{ops, {}};
  for (Graph& function : module.functions) decompose_graph(function, cast, kernels, ranges, diagnostics);
  decompose_graph(module.main, cast, kernels, ranges, diagnostics);
  return module;
}

}  // namespace kgen
