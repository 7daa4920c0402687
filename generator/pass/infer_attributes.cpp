#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "generator/pass/infer_context.hpp"

namespace kgen {
namespace {

// The value of a number's default, such as "1 / sqrt(D)", at this node.
std::optional<AttributeValue> default_number(const NodeContext& context, const AttributeSpec& spec,
                                             const Expression& expression) {
  for (const std::string& name : expression.variables) {
    const PatternBindings::Name* bound = context.bindings.find(name);
    if (bound && bound->extent.is_constant()) continue;
    auto& error = context.error(fmt::format("attribute '{}' must be given", spec.name));
    error.note(bound ? fmt::format("its default is {}, and {} is {}, which is known only at run time",
                                   spec.default_expression, name, bound->extent.text())
                     : fmt::format("its default is {}, and no operand's shape says what {} is",
                                   spec.default_expression, name));
    return std::nullopt;
  }
  return evaluate(expression, [&](std::string_view name) {
    return static_cast<double>(context.bindings.find(name)->extent.constant());
  });
}

// extent(operand, axis), where the axis is a number or an attribute that stands before this one.
std::optional<Dim> operand_extent(const NodeContext& context, const Attributes& before,
                                  std::span<const ExpressionArgument> arguments) {
  if (arguments.size() != 2) return std::nullopt;
  const auto& operands = context.op().operands;
  const auto operand = static_cast<std::size_t>(
      std::find_if(operands.begin(), operands.end(), [&](const auto& each) { return each.name == arguments[0].name; }) -
      operands.begin());
  if (!context.has_operand(operand)) return std::nullopt;
  auto axis = static_cast<std::int64_t>(arguments[1].value);
  if (!arguments[1].name.empty()) {
    const AttributeValue* attribute = find_attribute(before, arguments[1].name);
    if (!attribute || !std::holds_alternative<std::int64_t>(*attribute)) return std::nullopt;
    axis = std::get<std::int64_t>(*attribute);
  }
  const Shape& shape = context.shape(operand);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  const bool exists = axis >= 0 && axis < static_cast<std::int64_t>(shape.size());
  return exists ? shape[static_cast<std::size_t>(axis)] : Dim();  // who uses the axis tells what is wrong with it
}

// The value of a default that is an expression; `before` are the attributes that stand before this one.
std::optional<AttributeValue> default_value(const NodeContext& context, const AttributeSpec& spec,
                                            const Attributes& before) {
  std::string problem;
  const auto expression = parse_default(spec, &problem);
  if (!expression) {
    context.diagnostics.error(spec.where, fmt::format("the default of '{}': {}", spec.name, problem));
    return std::nullopt;
  }
  if (spec.type == AttributeType::number) return default_number(context, spec, *expression);
  const auto variable = [&](std::string_view name) -> std::optional<Dim> {
    const PatternBindings::Name* bound = context.bindings.find(name);
    return bound ? std::optional(bound->extent) : std::nullopt;
  };
  const auto extent = [&](std::string_view, std::span<const ExpressionArgument> arguments) {
    return operand_extent(context, before, arguments);
  };
  const auto size = evaluate_dim(*expression, variable, extent);
  if (size && spec.type == AttributeType::dim) return *size;
  if (size && spec.type == AttributeType::integer && size->is_constant()) return size->constant();
  context.error(fmt::format("attribute '{}' must be given", spec.name))
      .note(fmt::format("its default, {}, cannot be worked out here", spec.default_expression));
  return std::nullopt;
}

}  // namespace

std::optional<Expression> parse_default(const AttributeSpec& spec, std::string* problem) {
  constexpr std::array<std::string_view, 1> size_functions = {"extent"};
  const std::size_t functions = spec.type == AttributeType::number ? 0 : size_functions.size();
  return parse_expression(spec.default_expression, problem, std::span(size_functions).first(functions));
}

bool complete_attributes(NodeContext& context) {
  Attributes complete;
  complete.reserve(context.op().attributes.size());
  for (const AttributeSpec& spec : context.op().attributes) {
    const AttributeValue* given = find_attribute(context.node.attributes, spec.name);
    assert(given || !spec.required());
    auto value = given                ? std::optional(*given)
                 : spec.default_value ? spec.default_value
                                      : default_value(context, spec, complete);
    if (!value) return false;
    complete.emplace_back(spec.name, std::move(*value));
  }
  context.node.attributes = std::move(complete);
  return true;
}

}  // namespace kgen
