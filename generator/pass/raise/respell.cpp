#include "generator/pass/raise/respell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "generator/base/contains.hpp"
#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/choose/expansion_value.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

NodeScope scope_of(const SearchedGraph& in, const Node& node) {
  return scope_at(in.graph, node, in.ranges, in.constants);
}

// Whether the operator's node may be spelled so.
bool applies(const SearchedGraph& in, const Node& node, const Expansion& spelled) {
  return spelled.when.empty() || prove(scope_of(in, node), spelled.when) == Proof::always;
}

// Types the node, and says whether that is possible, without asking more of the run than the graph does. What it asks
// is asked again when it stays.
bool infers(SearchedGraph& in, Node& node) {
  Diagnostics none;
  std::vector<DimRequirement>& requirements = in.graph.requirements;
  const std::size_t known = requirements.size();
  bool fits = infer_node(in.graph, node, in.ranges, none);
  for (std::size_t i = known; i < requirements.size(); ++i) {
    fits = fits && in.required.contains({requirements[i].left.text(), requirements[i].right.text()});
  }
  requirements.resize(known);
  return fits;
}

// The same for a node whose results have types already: they must be those.
bool infers_as_typed(SearchedGraph& in, Node& node) {
  std::vector<std::optional<TensorType>> types;
  for (const ValueId output : node.outputs) types.push_back(in.graph.value(output).type);
  const bool fits = infers(in, node);
  bool same = true;
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::optional<TensorType>& type = in.graph.value(node.outputs[i]).type;
    same = same && type == types[i];
    type = types[i];
  }
  return fits && same;
}

bool same_axis(const AttributeValue& a, const AttributeValue& b, std::size_t rank) {
  const auto *left = std::get_if<std::int64_t>(&a), *right = std::get_if<std::int64_t>(&b);
  const auto from_first = [&](std::int64_t axis) { return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis; };
  return left && right && from_first(*left) == from_first(*right);
}

bool same_work(const SearchedGraph& in, const Node& a, const Node& b) {
  if (a.kind.index() != b.kind.index()) return false;
  if (const auto* view = std::get_if<IndexMap>(&a.kind)) return *view == std::get<IndexMap>(b.kind);
  if (const auto* reduction = std::get_if<Reduction>(&a.kind)) return *reduction == std::get<Reduction>(b.kind);
  const std::size_t rank = a.inputs.empty() ? 0 : in.graph.type(a.inputs[0]).shape.size();
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [&](const auto& left, const auto& right) {
                      return left.second == right.second ||
                             (is_axis(in.ops, *a.op, left.first) && same_axis(left.second, right.second, rank));
                    });
}

// ---- the operator's node --------------------------------------------------------------------------------------------

// Keeps of the covered nodes those that nothing else needs. False where one that must go is needed.
bool stands_alone(const SearchedGraph& in, NodeId last, Match& match) {
  std::sort(match.covered.begin(), match.covered.end(), std::greater());
  match.covered.erase(std::unique(match.covered.begin(), match.covered.end()), match.covered.end());
  std::map<ValueId, std::uint32_t> read;  // by how many of the nodes that are kept; those that read a node come first
  std::vector<NodeId> kept;
  for (const NodeId id : match.covered) {
    const Node& node = in.graph.nodes[id];
    const auto is_inner = [&](ValueId value) { return !in.named[value] && in.readers[value] == read[value]; };
    if (id != last && !std::all_of(node.outputs.begin(), node.outputs.end(), is_inner)) {
      if (!contains(match.may_stay, id)) return false;
      match.staying.push_back(id);
      continue;
    }
    kept.push_back(id);
    std::vector<ValueId> inputs = node.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (const ValueId input : inputs) ++read[input];
  }
  match.covered = std::move(kept);
  return true;
}

const OpSpec* view_op(const OpSet& ops, ViewRule::Form form) {
  const auto found = std::find_if(ops.ops.begin(), ops.ops.end(), [&](const OpSpec& op) {
    return op.view && op.view->form == form && op.attributes.size() == op.view->parameters.size();
  });
  return found == ops.ops.end() ? nullptr : &*found;
}

// A node that undoes the view of a part, which names nothing but numbers; nothing where no operator does.
std::optional<Node> inverse_of(const SearchedGraph& in, const Pattern::Part& part, const Node& at) {
  using Form = ViewRule::Form;
  Diagnostics none;
  const auto& [name, given] = part.from->attributes[0];
  auto value = attribute_at({scope_of(in, at), none}, *part.op->attribute(name), given, part.from->where);
  if (!value) return std::nullopt;
  Form form = part.op->view->form;
  if (form == Form::permute) {
    const auto axes = std::get<std::vector<Dim>>(*value);
    std::vector<Dim> inverse(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t axis = axes[i].constant();
      if (axis < 0 || axis >= static_cast<std::int64_t>(axes.size())) return std::nullopt;
      inverse[static_cast<std::size_t>(axis)] = Dim(static_cast<std::int64_t>(i));
    }
    value = std::move(inverse);
  } else {
    form = form == Form::squeeze ? Form::unsqueeze : Form::squeeze;
  }
  const OpSpec* op = view_op(in.ops, form);
  if (!op) return std::nullopt;
  return Node{.op = op, .attributes = {{op->attributes[0].name, *value}}, .where = at.where, .within = at.op->name};
}

ValueId new_value(SearchedGraph& in, NodeId last, const std::string& local) {
  const Node& node = in.graph.nodes[last];
  const std::string name = in.names.take(fmt::format("{}_{}", in.graph.value(node.outputs[0]).name, local));
  const ValueId value = add_result(in.graph, name, {}, node.where);
  in.graph.value(value).local = local;
  return value;
}

// Undoes the views in front of operands that the graph does not have.
bool undo_operand_views(SearchedGraph& in, const Pattern& pattern, NodeId last, Match& match, Recognised& found) {
  for (std::size_t i = pattern.parts.size(); i-- > 0;) {
    const Pattern::Part& part = pattern.parts[i];
    if (match.parts[i] || !part.shows_operand) continue;
    auto view = inverse_of(in, part, found.node);
    if (!view || match.values[part.first_output] == no_id) return false;
    view->inputs = {match.values[part.first_output]};
    view->outputs = {new_value(in, last, part.from->inputs[0].text)};
    if (!infers(in, *view)) return false;
    in.constants.add(*view);
    match.values[part.inputs[0].value] = view->outputs[0];
    found.before.push_back(std::move(*view));
  }
  return true;
}

// Rule: views that only add or drop axes of extent 1 are one reshape, through which a result can be written.
bool join_views(SearchedGraph& in, Recognised& found) {
  const auto moves = [](const Node& view) { return std::get<IndexMap>(view.kind).form == ViewRule::Form::permute; };
  if (std::any_of(found.after.begin(), found.after.end(), moves)) return true;
  const OpSpec* op = view_op(in.ops, ViewRule::Form::reshape);
  if (!op) return true;
  Node view = found.after.back();
  view.op = op;
  view.inputs = found.node.outputs;
  view.attributes = {{op->attributes[0].name, in.graph.type(view.outputs[0]).shape}};
  found.after = {std::move(view)};
  return infers_as_typed(in, found.after[0]);
}

// The same behind the result: `found.node` then makes a value of its own.
bool undo_result_views(SearchedGraph& in, const Pattern& pattern, NodeId last, const Match& match, Recognised& found) {
  std::uint32_t value = pattern.result;
  const ValueId result = in.graph.nodes[last].outputs[0];
  if (match.values[value] == no_id && in.named[result]) return false;  // a directive means what computes it
  while (value != pattern.core && !match.parts[pattern.maker[value]]) {
    const Pattern::Part& part = pattern.parts[pattern.maker[value]];
    auto view = inverse_of(in, part, found.node);
    if (!view) return false;
    value = part.inputs[0].value;
    view->inputs = found.after.empty() ? found.node.outputs : found.after.back().outputs;
    view->outputs = {result};
    if (value != pattern.core) view->outputs = {new_value(in, last, part.from->inputs[0].text)};
    if (value == pattern.core ? !infers_as_typed(in, *view) : !infers(in, *view)) return false;
    found.after.push_back(std::move(*view));
  }
  return found.after.size() < 2 || join_views(in, found);
}

// The operator's node as far as the match says it: what the spelling says can be asked of it.
Node node_as_known(const Recognised& found, const Match& match) {
  Node node = found.node;
  node.attributes = match.known;
  return node;
}

// What the spelling says that an operand or an attribute is; null where it is what the nodes have.
const Expression* number_rule(const Pattern& pattern, const std::string& name) {
  const auto& numbers = pattern.spelled->numbers;
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& each) { return each.first == name; });
  return found == numbers.end() ? nullptr : &found->second;
}

bool read_operands(SearchedGraph& in, const Pattern& pattern, const Match& match, Recognised& found) {
  const Node known = node_as_known(found, match);
  Diagnostics none;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < pattern.op->operands.size(); ++i) {
    const OperandSpec& operand = pattern.op->operands[i];
    ValueId value = match.values[i];
    if (const Expression* rule = number_rule(pattern, operand.name)) {
      const auto number = number_at({scope_of(in, known), none}, *rule, operand.where);
      if (!number) return false;
      value = add_constant(in.graph, "", std::nullopt, {*number}, found.node.where);
    }
    if (value == no_id && !operand.optional) return false;
    operands.push_back(value);
  }
  found.node.inputs = std::move(operands);
  return true;
}

// Rule: what an elementwise node of the spelling broadcast is broadcast in front of an operator that takes it whole.
// False where there is nothing of the kind.
bool broadcast_operands(SearchedGraph& in, const Pattern& pattern, const Match& match, Recognised& found) {
  bool any = false;
  for (std::size_t i = 0; i < pattern.parts.size(); ++i) {
    if (!match.parts[i] || pattern.parts[i].op->kind != OpKind::elementwise) continue;
    const Shape shape = in.graph.type(match.parts[i]->outputs[0]).shape;
    for (const Pattern::Input& input : pattern.parts[i].inputs) {
      if (input.value == no_id || input.value >= found.node.inputs.size()) continue;
      const OperandSpec& operand = pattern.op->operands[input.value];
      ValueId& value = found.node.inputs[input.value];
      if (value == no_id || !operand.pattern || in.graph.type(value).shape == shape) continue;
      const OpSpec* op = view_op(in.ops, ViewRule::Form::broadcast);
      if (!op) return false;
      Node view{.op = op,
                .attributes = {{op->attributes[0].name, shape}},
                .where = found.node.where,
                .within = pattern.op->name};
      view.inputs = {value};
      view.outputs = {add_result(in.graph, "", {}, found.node.where)};  // named where the match is taken
      in.graph.value(view.outputs[0]).local = operand.name;
      if (!infers(in, view)) return false;
      in.constants.add(view);
      value = view.outputs[0];
      found.before.push_back(std::move(view));
      any = true;
    }
  }
  return any;
}

// A state that is updated may be read before the update that another operand comes from: one node cannot read both.
bool mixes_states(const Graph& graph, const Node& node) {
  const auto is_updated = [&](ValueId id) {
    while (id != no_id && graph.value(id).kind == ValueKind::result) {
      const NodeId producer = graph.value(id).producer;
      if (producer == no_id || !std::holds_alternative<IndexMap>(graph.nodes[producer].kind)) return false;
      id = graph.nodes[producer].inputs[0];
    }
    if (id == no_id || graph.value(id).kind != ValueKind::state) return false;
    return graph.states[graph.value(id).index].next != no_id;
  };
  return node.inputs.size() > 1 && std::any_of(node.inputs.begin(), node.inputs.end(), is_updated);
}

bool read_attributes(const SearchedGraph& in, const Pattern& pattern, const Match& match, Recognised& found) {
  const Node known = node_as_known(found, match);
  Diagnostics none;
  const NodeScope scope = scope_of(in, known);
  for (const AttributeSpec& attribute : pattern.op->attributes) {
    const Expression* rule = number_rule(pattern, attribute.name);
    if (!rule && !find_attribute(match.known, attribute.name)) {
      if (attribute.required()) return false;
      continue;
    }
    const ExpansionValue given{"$" + attribute.name, {}};
    std::optional<AttributeValue> value = rule ? number_at({scope, none}, *rule, attribute.where)
                                               : attribute_at({scope, none}, attribute, given, attribute.where);
    if (!value) return false;
    found.node.attributes.emplace_back(attribute.name, std::move(*value));
  }
  return true;
}

// Whether the spelling, at the operator's node, is what was found.
bool is_spelled_so(SearchedGraph& in, const Pattern& pattern, const Match& match, const Node& node) {
  Node spelled = node;  // with the numbers that only the spelling names
  for (const auto& each : match.known) {
    if (!find_attribute(node.attributes, each.first)) spelled.attributes.push_back(each);
  }
  Diagnostics none;
  const NodeScope scope = scope_of(in, spelled);
  for (const auto& [spelled_number, value] : match.numbers) {
    const auto number = number_at({scope, none}, *spelled_number, pattern.op->where);
    if (!number || !equal_as(in.graph.type(value).dtype, *number, *number_of(in.graph, value))) return false;
  }
  for (std::size_t i = 0; i < pattern.parts.size(); ++i) {
    if (match.parts[i] && !respells(in, spelled, pattern.parts[i], *match.parts[i])) return false;
  }
  return pattern.is_expansion || applies(in, spelled, *pattern.spelled);
}

// ---- whether it pays ------------------------------------------------------------------------------------------------

const Expansion* expansion_of(const SearchedGraph& in, const Node& node) {
  const auto& all = node.op->expansions;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return applies(in, node, each); });
  return found == all.end() ? nullptr : &*found;
}

// Rule: the operator's node is better than the nodes it stands for where a kernel does in one what they do in several,
// or where the operator is written differently at these operands: it has an expansion for long rows, say.
bool pays(const SearchedGraph& in, const Pattern& pattern, const Recognised& found) {
  const auto takes = [&](const KernelSignature* kernel) {
    return takes_node(*kernel, in.graph, found.node, in.ranges, in.constants);
  };
  const auto kernels = in.ops.kernels_for(*pattern.op);
  if (std::any_of(kernels.begin(), kernels.end(), takes)) return found.covered.size() > 1;
  return pattern.op->kind == OpKind::composite && !found.as_written;
}

}  // namespace

namespace {

// "axis" of "$axis"; nothing where the text is more than that.
std::optional<std::string> whole_name(std::string_view text) {
  if (!text.starts_with('$') || text.find_first_of(" +-*/()[],") != text.npos) return std::nullopt;
  return std::string(text.substr(1));
}

void learn(Match& match, std::string_view text, AttributeValue value) {
  const auto name = whole_name(text);
  if (name && !find_attribute(match.known, *name)) match.known.emplace_back(*name, std::move(value));
}

// "[N, $groups, ..., $block]": one by one from either end, up to what stands for several.
void learn_items(Match& match, const ExpansionValue& given, const std::vector<Dim>& list) {
  if (!given.text.starts_with('[')) return;
  const std::size_t count = std::min(given.items.size(), list.size());
  const auto learn_item = [&](std::size_t item, std::size_t place) {
    if (given.items[item].text == "...") return false;
    if (list[place].is_constant()) learn(match, given.items[item].text, list[place].constant());
    return true;
  };
  std::size_t first = 0, last = 0;
  while (first < count && learn_item(first, first)) ++first;
  while (first + last < count && learn_item(given.items.size() - 1 - last, list.size() - 1 - last)) ++last;
}

}  // namespace

const Number* number_of(const Graph& graph, ValueId value) {
  if (value == no_id || graph.value(value).kind != ValueKind::constant) return nullptr;
  const std::vector<Number>& values = graph.constants[graph.value(value).index].values;
  return values.size() == 1 ? values.data() : nullptr;
}

bool equal_as(DType dtype, const Number& a, const Number& b) {
  if (a == b) return true;
  if (!info(dtype).floating) return false;
  const auto left = round_to_dtype(a.real(), dtype), right = round_to_dtype(b.real(), dtype);
  return left && right && *left == *right;
}

void learn_number(Match& match, const OpSpec& op, const Expression& input, const Number& number, DType dtype) {
  const auto name = whole_name(input.text);
  if (!name || find_attribute(match.known, *name)) return;
  const AttributeSpec* spec = op.attribute(*name);
  if (spec && spec->type != AttributeType::number) {
    if (const auto whole = number.as_signed()) match.known.emplace_back(*name, *whole);
    return;
  }
  // What is computed with is the element: one divided by it, say. An attribute is what the author wrote.
  const auto element = spec ? std::nullopt : round_to_dtype(number.real(), dtype);
  match.known.emplace_back(*name, element ? Number(*element) : number);
}

void learn_attributes(Match& match, const ExpansionNode& from, const Node& node) {
  for (const auto& [name, given] : from.attributes) {
    const AttributeValue* value = find_attribute(node.attributes, name);
    if (!value) continue;
    learn(match, given.text, *value);
    if (const auto* list = std::get_if<std::vector<Dim>>(value)) learn_items(match, given, *list);
  }
}

bool respells(SearchedGraph& in, const Node& spelled, const Pattern::Part& part, const Node& node) {
  Diagnostics none;
  const NodeScope scope = scope_of(in, spelled);
  Node expected{.op = part.op, .inputs = node.inputs, .outputs = node.outputs};
  for (const auto& [name, given] : part.from->attributes) {
    const AttributeSpec* spec = part.op->attribute(name);
    auto value = spec ? attribute_at({scope, none}, *spec, given, part.from->where) : std::nullopt;
    if (!value) return false;
    expected.attributes.emplace_back(name, std::move(*value));
  }
  return infers_as_typed(in, expected) && same_work(in, expected, node);
}

std::optional<Recognised> finish_match(SearchedGraph& in, const Pattern& pattern, NodeId last, Match& match) {
  if (!stands_alone(in, last, match)) return std::nullopt;
  Recognised found;
  const bool at_end = match.values[pattern.result] != no_id;
  found.node.op = pattern.op;
  found.node.where = in.graph.nodes[last].where;
  if (!undo_operand_views(in, pattern, last, match, found)) return std::nullopt;
  if (!read_operands(in, pattern, match, found) || mixes_states(in.graph, found.node)) return std::nullopt;
  if (!read_attributes(in, pattern, match, found)) return std::nullopt;
  found.node.outputs = at_end ? in.graph.nodes[last].outputs : std::vector{new_value(in, last, "whole")};
  const auto is_typed = [&] { return at_end ? infers_as_typed(in, found.node) : infers(in, found.node); };
  if (!is_typed() && (!broadcast_operands(in, pattern, match, found) || !is_typed())) return std::nullopt;
  if (!undo_result_views(in, pattern, last, match, found)) return std::nullopt;
  if (!is_spelled_so(in, pattern, match, found.node)) return std::nullopt;
  found.covered = match.covered;
  found.staying = match.staying;
  found.as_written = match.as_written && expansion_of(in, found.node) == pattern.spelled;
  found.pays = pays(in, pattern, found);
  return found;
}

}  // namespace kgen
