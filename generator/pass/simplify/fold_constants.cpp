#include "generator/pass/simplify/fold_constants.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "generator/spec/expression.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

constexpr std::int64_t most_elements = 64;

// Definitions are worked out over doubles: whole numbers beyond this are left to the program.
constexpr double largest_exact = 9007199254740992.0;  // 2^53

using Extents = std::vector<std::int64_t>;

// Absent where the shape depends on symbols or has too many elements.
std::optional<Extents> small_extents(const Shape& shape) {
  Extents extents;
  std::int64_t count = 1;
  for (const Dim& extent : shape) {
    if (!extent.is_constant()) return std::nullopt;
    extents.push_back(extent.constant());
    if (extent.constant() > most_elements) return std::nullopt;
    count *= extent.constant();
    if (count > most_elements) return std::nullopt;
  }
  return extents;
}

std::int64_t count_of(const Extents& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

// The position of each axis of the row-major element number `flat`.
Extents position_of(std::int64_t flat, const Extents& extents) {
  Extents position(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    position[i] = flat % extents[i];
    flat /= extents[i];
  }
  return position;
}

// The row-major number of an element; axes are aligned at the right, and those of extent 1 repeat.
std::int64_t flat_of(const Extents& position, const Extents& extents) {
  const std::size_t lead = position.size() - extents.size();
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < extents.size(); ++i)
    flat = flat * extents[i] + (extents[i] == 1 ? 0 : position[lead + i]);
  return flat;
}

// One operand: its elements as its dtype holds them.
struct Operand {
  Extents extents;
  std::vector<Number> elements;  // one: a splat
  DType dtype = DType::f32;

  const Number& at(std::int64_t flat) const { return elements[elements.size() == 1 ? 0 : static_cast<std::size_t>(flat)]; }
};

// As an element of the dtype; nothing where the dtype has none.
std::optional<Number> element_of(const Number& number, DType dtype) {
  if (!info(dtype).floating) return integer_holds(dtype, number) ? std::optional(number) : std::nullopt;
  const auto rounded = round_to_dtype(number.real(), dtype);
  return rounded ? std::optional(Number(*rounded)) : std::nullopt;
}

std::optional<Operand> read_operand(const Graph& graph, ValueId value) {
  const std::vector<Number>* elements = elements_of(graph, value);
  if (!elements) return std::nullopt;
  const TensorType& type = graph.type(value);
  const auto extents = small_extents(type.shape);
  if (!extents) return std::nullopt;
  Operand operand{*extents, {}, type.dtype};
  for (const Number& each : *elements) {
    auto element = element_of(each, type.dtype);
    if (!element) return std::nullopt;
    operand.elements.push_back(std::move(*element));
  }
  return operand;
}

// The position in the operand that a view shows at `position` of its result. `begin` is that of slice and select.
Extents viewed_position(const IndexMap& view, std::int64_t begin, Extents position, const Extents& operand) {
  const auto axis = static_cast<std::size_t>(view.axis);
  const auto at_axis = position.begin() + view.axis;
  switch (view.form) {
    case ViewRule::Form::permute: {
      Extents source(position.size());
      for (std::size_t i = 0; i < position.size(); ++i) source[static_cast<std::size_t>(view.axes[i])] = position[i];
      return source;
    }
    case ViewRule::Form::slice:
      position[axis] = begin + position[axis] * view.step;
      break;
    case ViewRule::Form::select:
      position.insert(at_axis, begin);
      break;
    case ViewRule::Form::unsqueeze:
      position.erase(at_axis);
      break;
    case ViewRule::Form::squeeze:
      position.insert(at_axis, 0);
      break;
    case ViewRule::Form::flip:
      position[axis] = operand[axis] - 1 - position[axis];
      break;
    default:
      break;
  }
  return position;
}

std::optional<std::vector<Number>> fold_view(const IndexMap& view, const Operand& operand, const Extents& result) {
  using Form = ViewRule::Form;
  if (view.form == Form::concat || view.form == Form::update) return std::nullopt;
  const bool has_begin = view.form == Form::slice || view.form == Form::select;
  if (has_begin && !view.begin.is_constant()) return std::nullopt;
  std::vector<Number> elements;
  const std::int64_t count = count_of(result);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    if (view.form == Form::reshape) {
      elements.push_back(operand.at(flat));
      continue;
    }
    const Extents position = viewed_position(view, view.begin.constant(), position_of(flat, result), operand.extents);
    const std::int64_t source = flat_of(position, operand.extents);
    if (source < 0 || source >= count_of(operand.extents)) return std::nullopt;
    elements.push_back(operand.at(source));
  }
  return elements;
}

// Where each variable of a definition comes from: an operand, or the number in an attribute.
struct Binding {
  std::optional<std::size_t> operand;
  Number number;  // where there is no operand
};

std::optional<Binding> bind(const Node& node, const std::string& variable) {
  for (std::size_t i = 0; i < node.op->operands.size() && i < node.inputs.size(); ++i) {
    if (node.op->operands[i].name == variable) return Binding{i, {}};
  }
  const AttributeValue* attribute = find_attribute(node.attributes, variable);
  if (!attribute) return std::nullopt;
  Binding binding;
  if (const auto* number = std::get_if<Number>(attribute)) {
    binding.number = *number;
  } else if (const auto* integer = std::get_if<std::int64_t>(attribute)) {
    binding.number = *integer;
  } else if (const auto* flag = std::get_if<bool>(attribute)) {
    binding.number = *flag ? 1 : 0;
  } else {
    return std::nullopt;
  }
  return binding;
}

std::optional<std::vector<Number>> fold_elementwise(const Node& node, DType dtype, std::span<const Operand> operands,
                                                    const Extents& result) {
  const Expression& definition = node.op->definition;
  std::vector<Binding> bindings;
  for (const std::string& variable : definition.variables) {
    const auto binding = bind(node, variable);
    if (!binding) return std::nullopt;
    bindings.push_back(*binding);
  }
  std::vector<Number> elements;
  std::vector<double> values(bindings.size());
  const std::int64_t count = count_of(result);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    const Extents position = position_of(flat, result);
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const auto from = bindings[i].operand;
      const Number& value = from ? operands[*from].at(flat_of(position, operands[*from].extents)) : bindings[i].number;
      values[i] = value.real();
      const bool is_integer = from && !info(operands[*from].dtype).floating;
      if (is_integer && std::abs(values[i]) > largest_exact) return std::nullopt;
    }
    const double number = evaluate(definition, values);
    const auto element = node.op->role == OpRole::cast ? cast_to_dtype(number, dtype) : round_to_dtype(number, dtype);
    if (!element) return std::nullopt;
    elements.emplace_back(*element);
  }
  return elements;
}

std::optional<std::vector<Number>> fold(Rewriting& rewriting, const Node& node) {
  const TensorType& type = rewriting.graph.type(node.outputs[0]);
  const auto extents = small_extents(type.shape);
  if (!extents) return std::nullopt;
  std::vector<Operand> operands;
  for (const ValueId input : node.inputs) {
    auto operand = read_operand(rewriting.graph, input);
    if (!operand) return std::nullopt;
    operands.push_back(std::move(*operand));
  }
  if (const auto* view = std::get_if<IndexMap>(&node.kind)) return fold_view(*view, operands[0], *extents);
  return node.op->definition.empty() ? std::nullopt : fold_elementwise(node, type.dtype, operands, *extents);
}

}  // namespace

bool fold_constants(Rewriting& rewriting, NodeId id) {
  Graph& graph = rewriting.graph;
  const Node& node = graph.nodes[id];
  const bool can_fold = std::holds_alternative<Elementwise>(node.kind) || std::holds_alternative<IndexMap>(node.kind);
  if (!can_fold || node.outputs.size() != 1 || node.inputs.empty() || node.op->role == OpRole::copy) return false;
  const ValueId result = node.outputs[0];
  if (rewriting.named[result]) return false;
  const auto is_constant = [&](ValueId input) { return elements_of(graph, input) != nullptr; };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_constant)) return false;
  auto elements = fold(rewriting, node);
  if (!elements) return false;

  const auto differs = [&](const Number& element) { return !same_bits(element, elements->front()); };
  if (elements->empty()) elements->push_back(0);
  if (std::none_of(elements->begin(), elements->end(), differs)) elements->resize(1);
  if (rewriting.observed[result]) {  // it must be produced, so it becomes a copy of the constant
    const TensorType type = graph.type(result);
    const std::string name = graph.value(result).name + "_constant";
    return replace_result(rewriting, id, new_constant(rewriting, name, type, std::move(*elements), node.where));
  }
  Value& value = graph.value(result);
  value.kind = ValueKind::constant;
  value.producer = no_id;
  value.index = static_cast<std::uint32_t>(graph.constants.size());
  graph.constants.push_back({{std::move(*elements), {}, {}}, result});
  rewriting.removed[id] = true;
  return true;
}

}  // namespace kgen
