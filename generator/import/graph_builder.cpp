#include "generator/import/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "generator/base/characters.hpp"
#include "generator/base/cpp_names.hpp"
#include "generator/import/shorten.hpp"
#include "generator/import/yaml_text.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/broadcast.hpp"

namespace kgen {
namespace {

// "/model/layers.0/MatMul_output_0" gives "model_layers_0_MatMul_output_0".
std::string identifier_of(std::string_view wish) {
  std::string name;
  for (const char c : wish) {
    if (is_letter(c) || is_digit(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.size() > 200) name.resize(200);
  if (name.empty()) name = "value";
  if (is_digit(name[0])) name = "v" + name;
  if (name.starts_with("stub_") || !reason_not_in_cpp(name).empty()) name = "v_" + name;
  return name;
}

}  // namespace

void ClaimedNames::reserve(const std::string& wish) {
  if (!reserved_.contains(wish)) reserved_.emplace(wish, claim(wish));
}

std::string ClaimedNames::claim(std::string_view wish) {
  if (const auto kept = reserved_.find(wish); kept != reserved_.end()) {
    std::string name = std::move(kept->second);
    reserved_.erase(kept);
    return name;
  }
  std::string name = identifier_of(wish);
  if (taken_.insert(name).second) return name;
  for (int& number = next_[name];;) {
    std::string other = fmt::format("{}_{}", name, ++number + 1);
    if (taken_.insert(other).second) return other;
  }
}

void GraphBuilder::add_dim(DimDeclaration dim) {
  ranges_[dim.name] = dim.range;
  graph_.dims.push_back(std::move(dim));
}

ValueId GraphBuilder::add_value(std::string name, ValueKind kind, std::optional<TensorType> type) {
  Value value;
  value.name = std::move(name);
  value.kind = kind;
  value.type = std::move(type);
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ImportedValue GraphBuilder::add_input(std::string_view name, TensorType type) {
  ImportedValue operand{type, add_value(std::string(name), ValueKind::input, type), nullptr, std::string(name)};
  graph_.value(operand.id).index = static_cast<std::uint32_t>(graph_.inputs.size());
  graph_.inputs.push_back({operand.id, false});
  return operand;
}

ImportedValue GraphBuilder::add_constant(std::string_view name, const Content& content) {
  const TensorType type{content.dtype, to_shape(content.shape), nullptr};
  ImportedValue operand{type, add_value(std::string(name), ValueKind::constant, type), nullptr, std::string(name)};
  ConstantData data{{}, operand.id};
  for (const ContentElement& element : content.elements) data.values.push_back(number_of(element).value_or(0));
  graph_.value(operand.id).index = static_cast<std::uint32_t>(graph_.constants.size());
  graph_.constants.push_back(std::move(data));
  return operand;
}

ImportedValue GraphBuilder::add_stored(std::string_view name, StoredTensor tensor) {
  const std::string key = tensor.key;
  for (int i = 2; !keys_.insert(tensor.key).second; ++i) tensor.key = fmt::format("{}_{}", key, i);
  const TensorType type{tensor.dtype, to_shape(tensor.shape), nullptr};
  ImportedValue operand{type, add_value(std::string(name), ValueKind::constant, type), nullptr, std::string(name)};
  graph_.value(operand.id).index = static_cast<std::uint32_t>(graph_.constants.size());
  graph_.constants.push_back({{{}, "", tensor.key}, operand.id});
  stored_values_.emplace(operand.id, stored_.size());
  stored_.push_back(std::move(tensor));
  return operand;
}

// What a value shows in another shape.
ValueId GraphBuilder::behind_reshapes(ValueId value) const {
  while (graph_.value(value).kind == ValueKind::result) {
    const Node& node = graph_.nodes[graph_.value(value).producer];
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (!view || view->form != ViewRule::Form::reshape) break;
    value = node.inputs[0];
  }
  return value;
}

std::optional<ImportedValue> GraphBuilder::add_bytes_of(const ImportedValue& operand, DType dtype,
                                                        std::vector<std::int64_t> shape) {
  const auto remembered = remembered_.find(operand.content.get());
  const StoredTensor* source = operand.id != no_id ? tensor_of(behind_reshapes(operand.id)) : nullptr;
  if (!source && remembered != remembered_.end()) source = &remembered->second.second;
  const std::int64_t count = element_count(shape);
  if (!source || count < 0 || source->length != bytes_of_elements(dtype, count)) return std::nullopt;
  const auto [known, is_new] = shown_as_.emplace(std::tuple(source->key, dtype, shape), no_id);
  if (!is_new) return result_of(known->second);
  StoredTensor tensor = *source;
  tensor.key = fmt::format("{}.{}", source->key, info(dtype).name);
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  const std::string name = names_.claim(tensor.key);
  ImportedValue made = add_stored(name, std::move(tensor));
  known->second = made.id;
  return made;
}

bool GraphBuilder::add_graph(const Graph& graph, Diagnostics& diagnostics) {
  graph_ = graph;
  ranges_ = ranges_of(graph);
  keeps_keys_ = true;
  for (const ConstantData& constant : graph.constants) {
    if (!graph.value(constant.value).type) {
      numbers_.insert(constant.value);
      graph_.value(constant.value).name = to_text(constant.values[0]);
    }
    if (constant.file.empty()) continue;
    StoredTensor tensor;
    tensor.key = constant.key;
    tensor.dtype = graph.type(constant.value).dtype;
    stored_values_.emplace(constant.value, stored_.size());
    stored_.push_back(std::move(tensor));
  }
  for (Node& node : graph_.nodes) {
    given_.push_back(node.attributes);
    const auto is_made_later = [&](ValueId each) {
      return each != no_id && !graph_.value(each).type && graph_.value(each).kind == ValueKind::result;
    };
    const auto later = std::find_if(node.inputs.begin(), node.inputs.end(), is_made_later);
    if (later != node.inputs.end()) {
      const std::string& name = graph_.value(*later).name;
      diagnostics.error(node.where, fmt::format("it reads '{}', which a node behind it makes", name))
          .advise("write the nodes in the order in which they can be computed");
      return false;
    }
    if (!infer_node(graph_, node, ranges_, diagnostics)) return false;
  }
  return true;
}

const StoredTensor* GraphBuilder::stored_of(ValueId value) const {
  const auto found = stored_values_.find(value);
  return found == stored_values_.end() ? nullptr : &stored_[found->second];
}

const StoredTensor* GraphBuilder::tensor_of(ValueId value) const {
  const auto found = small_.find(value);
  return found == small_.end() ? stored_of(value) : found->second;
}

void GraphBuilder::remember_tensor(const std::shared_ptr<const Content>& content, StoredTensor tensor) {
  remembered_.emplace(content.get(), std::pair(content, std::move(tensor)));
}

std::size_t GraphBuilder::begin_call(std::string function) {
  const auto begin = static_cast<NodeId>(graph_.nodes.size());
  inlined_.push_back({std::move(function), begin, begin});
  return inlined_.size() - 1;
}

ValueId GraphBuilder::add_number(const Number& number) {
  const ValueId id = add_value("", ValueKind::constant, std::nullopt);
  graph_.value(id).name = to_text(number);
  graph_.value(id).index = static_cast<std::uint32_t>(graph_.constants.size());
  graph_.constants.push_back({{{number}, "", ""}, id});
  numbers_.insert(id);
  return id;
}

bool GraphBuilder::settle(ImportedValue& operand, Diagnostics& diagnostics) {
  if (operand.id != no_id) return true;
  const auto found = constants_.find(operand.content.get());
  if (found != constants_.end()) {
    operand.id = found->second.second;
    return true;
  }
  const auto& elements = operand.content->elements;
  if (!std::all_of(elements.begin(), elements.end(), number_of)) {
    const auto written = write_sizes_(operand, diagnostics);
    if (!written) return false;
    operand.id = written->id;
    constants_.emplace(operand.content.get(), std::pair(operand.content, operand.id));
    return true;
  }
  const std::string name = names_.claim(operand.name.empty() ? "constant" : operand.name);
  operand.id = add_constant(name, *operand.content).id;
  const auto remembered = remembered_.find(operand.content.get());
  if (remembered != remembered_.end()) small_[operand.id] = &remembered->second.second;
  constants_.emplace(operand.content.get(), std::pair(operand.content, operand.id));
  return true;
}

ImportedValue GraphBuilder::result_of(ValueId value) const {
  const auto counted = counted_.find(value);
  return {graph_.type(value), value, nullptr, graph_.value(value).name,
          counted == counted_.end() ? std::nullopt : std::optional(counted->second)};
}

bool GraphBuilder::carry_counted_axes(const Node& node, Diagnostics& diagnostics) {
  const auto& inputs = node.inputs;
  const bool counted = std::any_of(inputs.begin(), inputs.end(), [&](ValueId each) { return counted_.contains(each); });
  const bool reads =
      counted || std::any_of(inputs.begin(), inputs.end(), [&](ValueId each) { return counts_.contains(each); });
  counted_reads_ += reads;
  if (!counted) return true;
  const CountedResults found = counted_results(graph_, node, counted_, ops_);
  if (!found.problem.empty()) {
    diagnostics.error({}, found.problem)
        .advise(
            "what may read it: elementwise operators, other axes' views and reductions, indices of Gather, outputs");
    return false;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (found.results[i]) counted_[node.outputs[i]] = *found.results[i];
  }
  return true;
}

namespace {

// A scalar that can stand as a number among the operands of the node: another operand has its dtype, and more axes.
bool stands_as_number(const OpSpec& op, const std::vector<BuilderArgument>& inputs, std::size_t which) {
  const ImportedValue* scalar = std::get_if<ImportedValue>(&inputs[which]);
  if (op.kind != OpKind::elementwise || !scalar || scalar->id != no_id || !scalar->content) return false;
  if (!scalar->content->shape.empty() || which >= op.operands.size() || !op.operands[which].line.empty()) return false;
  if (!number_of(scalar->content->elements[0])) return false;
  for (std::size_t i = 0; i < inputs.size() && i < op.operands.size(); ++i) {
    const ImportedValue* other = std::get_if<ImportedValue>(&inputs[i]);
    const bool in_graph = other && (other->id != no_id || !other->type.shape.empty());
    if (in_graph && op.operands[i].type == op.operands[which].type && other->type.dtype == scalar->type.dtype)
      return true;
  }
  return false;
}

// Whether those that are needed are given, and texts are among their choices.
bool attributes_stand(const OpSpec& op, const Attributes& attributes, Diagnostics& diagnostics) {
  for (const AttributeSpec& spec : op.attributes) {
    const AttributeValue* given = find_attribute(attributes, spec.name);
    if (!given && spec.required()) {
      diagnostics.error({}, fmt::format("'{}' needs the attribute '{}'", op.name, spec.name));
      return false;
    }
    const auto* text = given ? std::get_if<std::string>(given) : nullptr;
    const auto& allowed = spec.allowed;
    if (!text || allowed.empty() || std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) continue;
    diagnostics.error({}, fmt::format("'{}' of '{}' cannot be '{}'", spec.name, op.name, *text))
        .note(fmt::format("the choices are {}", quoted_list(allowed)));
    return false;
  }
  return true;
}

// What a node is given that it would not have without: a default goes without saying.
Attributes without_defaults(const OpSpec& op, Attributes attributes) {
  std::erase_if(attributes, [&](const auto& given) {
    const AttributeSpec& spec = *op.attribute(given.first);
    if (!spec.default_value) return false;
    // A default of one value stands for as many as a list with a count has.
    const auto repeats = [&](const auto& list) {
      const auto& one = std::get<std::remove_cvref_t<decltype(list)>>(*spec.default_value);
      if (list == one) return true;
      return one.size() == 1 && !spec.count.empty() && !list.empty() &&
             std::all_of(list.begin(), list.end(), [&](const auto& each) { return each == one[0]; });
    };
    if (given.second.index() != spec.default_value->index()) return false;
    if (const auto* dims = std::get_if<std::vector<Dim>>(&given.second)) return repeats(*dims);
    if (const auto* numbers = std::get_if<std::vector<Number>>(&given.second)) return repeats(*numbers);
    return yaml_attribute(given.second) == yaml_attribute(*spec.default_value);  // as the graph's reader sees it
  });
  return attributes;
}

const OpSpec* view_op(const OpSet& ops, ViewRule::Form form) {
  const auto found =
      std::find_if(ops.ops.begin(), ops.ops.end(), [&](const OpSpec& op) { return op.view && op.view->form == form; });
  return &*found;
}

// Whether the operands broadcast, in every axis.
bool broadcasts_operands(const OpSpec& op) {
  return op.kind == OpKind::elementwise &&
         std::all_of(op.operands.begin(), op.operands.end(), [](const OperandSpec& each) { return each.line.empty(); });
}

}  // namespace

// Extents that only the run can compare, as it says one of them alone, are taken to be the same: the operand is shown
// with those of the operands before it, which the run checks axis by axis.
bool GraphBuilder::fit_sizes(const OpSpec& op, std::vector<ValueId>& inputs, Diagnostics& diagnostics) {
  if (!broadcasts_operands(op)) return true;
  Shape common;
  for (ValueId& input : inputs) {
    if (input == no_id || !graph_.value(input).type) continue;
    Shape shape = graph_.type(input).shape;
    for (std::size_t from_end = 1; from_end <= std::min(shape.size(), common.size()); ++from_end) {
      Dim& extent = shape[shape.size() - from_end];
      const Dim& wanted = common[common.size() - from_end];
      if (extent == wanted || extent == 1 || wanted == 1 || !is_for_the_run_to_tell(graph_, extent, wanted)) continue;
      extent = wanted;
      const OpSpec& reshape = *view_op(ops_, ViewRule::Form::reshape);
      const auto shown = add_node(reshape, {result_of(input)}, {{reshape.view->parameters.at("shape"), shape}},
                                  {graph_.value(input).name + "_fitted"}, diagnostics);
      if (!shown) return false;
      input = (*shown)[0].id;
    }
    broadcast_into(common, shape);
  }
  return true;
}

std::optional<std::vector<ImportedValue>> GraphBuilder::add_node(const OpSpec& op, std::vector<BuilderArgument> inputs,
                                                           Attributes attributes,
                                                           const std::vector<std::string>& names,
                                                           Diagnostics& diagnostics) {
  Node node;
  node.op = &op;
  node.attributes = attributes;
  const std::size_t values_before = graph_.values.size(), constants_before = graph_.constants.size(),
                    nodes_before = graph_.nodes.size();
  while (!inputs.empty() && std::holds_alternative<std::monostate>(inputs.back())) inputs.pop_back();
  const auto required = static_cast<std::size_t>(std::count_if(
      op.operands.begin(), op.operands.end(), [](const OperandSpec& each) { return !each.optional; }));
  const bool variadic = !op.operands.empty() && op.operands.back().variadic;
  if (inputs.size() < required || (!variadic && inputs.size() > op.operands.size())) {
    diagnostics.error({}, fmt::format("'{}' cannot take {} operands", op.name, inputs.size()));
    return std::nullopt;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const OperandSpec& spec = op.operands[std::min(i, op.operands.size() - 1)];
    if (std::holds_alternative<std::monostate>(inputs[i]) && !spec.optional) {
      diagnostics.error({}, fmt::format("operand '{}' of '{}' is left out", spec.name, op.name));
      return std::nullopt;
    }
    if (stands_as_number(op, inputs, i))
      inputs[i] = *number_of(std::get<ImportedValue>(inputs[i]).content->elements[0]);
    if (const Number* number = std::get_if<Number>(&inputs[i])) {
      node.inputs.push_back(add_number(*number));
    } else if (ImportedValue* operand = std::get_if<ImportedValue>(&inputs[i])) {
      if (!settle(*operand, diagnostics)) return std::nullopt;
      if (operand->counted) {
        counted_[operand->id] = *operand->counted;
        counts_.insert(operand->counted->count);
      }
      node.inputs.push_back(operand->id);
    } else {
      node.inputs.push_back(no_id);
    }
  }
  node.inputs.resize(std::max(node.inputs.size(), op.operands.size()), no_id);
  if (!attributes_stand(op, attributes, diagnostics) || !fit_sizes(op, node.inputs, diagnostics)) return std::nullopt;
  const auto id = static_cast<NodeId>(graph_.nodes.size());
  std::vector<ImportedValue> results;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const ValueId value = add_value(i < names.size() ? names[i] : op.results[i].name, ValueKind::result, std::nullopt);
    graph_.value(value).producer = id;
    graph_.value(value).index = static_cast<std::uint32_t>(i);
    node.outputs.push_back(value);
  }
  if (!infer_node(graph_, node, ranges_, diagnostics) || !carry_counted_axes(node, diagnostics)) {
    for (std::size_t value = values_before; value < graph_.values.size(); ++value)
      numbers_.erase(static_cast<ValueId>(value));
    for (auto it = constants_.begin(); it != constants_.end();) {
      it = it->second.second >= values_before ? constants_.erase(it) : std::next(it);
    }
    graph_.values.resize(values_before);
    graph_.constants.resize(constants_before);
    graph_.nodes.resize(nodes_before);
    given_.resize(nodes_before);
    return std::nullopt;
  }
  if (const auto shown = shown_whole(graph_, node)) {
    graph_.values.resize(node.outputs[0]);
    counted_.erase(node.outputs[0]);
    return std::vector{result_of(*shown)};
  }
  if (const auto shorter = transposed_in_parts(graph_, node)) {
    node.op = view_op(ops_, ViewRule::Form::permute);
    node.inputs[0] = shorter->operand;
    attributes = {{node.op->attributes[0].name, shorter->order}};
    node.attributes = attributes;
    if (!infer_node(graph_, node, ranges_, diagnostics)) return std::nullopt;
  }
  for (const ValueId value : node.outputs) results.push_back(result_of(value));
  graph_.nodes.push_back(std::move(node));
  given_.push_back(without_defaults(*graph_.nodes.back().op, std::move(attributes)));
  return results;
}

}  // namespace kgen
