#include "generator/spec/streamed_operand.hpp"

#include <algorithm>
#include <span>

#include "generator/spec/expression.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

constexpr int most_steps = 16;  // nodes that are looked at

// The axis of `to` that runs as `axis` of `from` does, of two shapes of the same elements: where neighbours along both
// are as far apart, and it is no axis of one element.
std::optional<std::size_t> same_axis(const Shape& from, std::size_t axis, const Shape& to) {
  Dim behind(1), found_behind(1);
  for (std::size_t i = axis + 1; i < from.size(); ++i) behind = behind * from[i];
  for (std::size_t i = to.size(); i-- > 0; found_behind = found_behind * to[i]) {
    if (found_behind == behind && to[i] != Dim(1)) return i;
  }
  return std::nullopt;
}

// The axis of a view's operand along which its result's runs.
std::optional<std::size_t> axis_behind(const Graph& graph, const Node& node, const IndexMap& view, std::size_t axis) {
  using Form = ViewRule::Form;
  switch (view.form) {
    case Form::permute:
      return static_cast<std::size_t>(view.axes[axis]);
    case Form::reshape:
    case Form::unsqueeze:
    case Form::squeeze:
      return same_axis(graph.type(node.outputs[0]).shape, axis, graph.type(node.inputs[0]).shape);
    default:
      return std::nullopt;
  }
}

// The only operand of an elementwise node that has as many elements as its result; no_id where there are none, or more.
ValueId whole_operand(const Graph& graph, const Node& node) {
  const Shape& shape = graph.type(node.outputs[0]).shape;
  ValueId whole = no_id;
  for (const ValueId input : node.inputs) {
    if (input == no_id || graph.type(input).shape != shape) continue;
    if (whole != no_id) return no_id;
    whole = input;
  }
  return whole;
}

// Of two parts of a definition joined, by what each is of one of its operands.
Degree joined(Expression::Operation operation, std::span<const Degree> parts) {
  using enum Expression::Operation;
  const auto has_none = [](Degree each) { return each == Degree::none; };
  if (std::all_of(parts.begin(), parts.end(), has_none)) return Degree::none;
  switch (operation) {
    case add:
    case subtract:
      return has_none(parts[0]) || has_none(parts[1]) ? std::max({parts[0], parts[1], Degree::affine})
                                                      : std::max(parts[0], parts[1]);
    case negate:
      return parts[0];
    case multiply:
      return has_none(parts[0]) || has_none(parts[1]) ? std::max(parts[0], parts[1]) : Degree::other;
    case divide:
      return has_none(parts[1]) ? parts[0] : Degree::other;
    default:
      return Degree::other;
  }
}

// Of an elementwise node, in one of its operands: on lanes of floats that are not rounded to fewer bits, unless nobody
// asked for that.
Degree degree_in(const Graph& graph, const Node& node, ValueId operand) {
  const DType made = graph.type(node.outputs[0]).dtype;
  if (!node.op || !info(made).floating) return Degree::other;
  if (node.op->role == OpRole::copy) return Degree::linear;
  if (node.op->role == OpRole::cast) {
    const DType from = graph.type(operand).dtype;
    const bool is_kept = holds_every_value(made, from) || (node.implied && info(from).floating);
    return is_kept ? Degree::linear : Degree::other;
  }
  if (!info(graph.type(operand).dtype).floating || node.op->definition.empty()) return Degree::other;
  const Expression& definition = node.op->definition;
  const auto is_it = [&](std::string_view name) {
    const std::vector<OperandSpec>& specs = node.op->operands;
    for (std::size_t i = 0; i < std::min(specs.size(), node.inputs.size()); ++i) {
      if (specs[i].name == name) return node.inputs[i] == operand;
    }
    return false;
  };
  const auto degree = run<Degree>(definition, [&](const Expression::Step& step, std::span<const Degree> parts) {
    if (step.operation != Expression::Operation::variable) return std::optional(joined(step.operation, parts));
    return std::optional(is_it(definition.variables[step.index]) ? Degree::linear : Degree::none);
  });
  return degree.value_or(Degree::other);
}

}  // namespace

Degree streamed_degree(const Graph& graph, ValueId operand) {
  ValueId at = operand;
  if (at == no_id || graph.type(at).structure || graph.type(at).shape.size() < 2) return Degree::none;
  std::size_t axis = graph.type(at).shape.size() - 2;
  Degree degree = Degree::linear;
  for (int step = 0; step < most_steps && at != no_id; ++step) {
    const Value& value = graph.value(at);
    if (value.kind == ValueKind::constant) {
      const TensorType& type = graph.type(at);
      const bool fits = !type.structure && at != operand && info(type.dtype).bits <= 8 && axis + 1 == type.shape.size();
      return fits ? degree : Degree::none;
    }
    if (value.kind != ValueKind::result || value.producer == no_id) return Degree::none;
    const Node& node = graph.nodes[value.producer];
    if (const auto* view = std::get_if<IndexMap>(&node.kind)) {
      const auto behind = axis_behind(graph, node, *view, axis);
      if (!behind) return Degree::none;
      axis = *behind;
      at = node.inputs[0];
    } else if (std::holds_alternative<Elementwise>(node.kind) && node.outputs.size() == 1) {
      at = whole_operand(graph, node);
      if (at != no_id) degree = std::max(degree, degree_in(graph, node, at));
    } else {
      return Degree::none;
    }
  }
  return Degree::none;
}

}  // namespace kgen
