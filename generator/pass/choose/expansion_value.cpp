#include "generator/pass/choose/expansion_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "generator/base/ensure.hpp"
#include "generator/spec/broadcast.hpp"

namespace kgen {
namespace {

// The attribute that the whole of `text` stands for ("$axis").
const AttributeValue* whole_attribute(const ExpansionScope& scope, std::string_view text) {
  if (text.empty() || text.front() != '$') return nullptr;
  return find_attribute(scope.composite.attributes, text.substr(1));
}

// Whole numbers, and sizes.
std::optional<Dim> size_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Dim(*integer);
  if (const auto* dim = std::get_if<Dim>(&value)) return *dim;
  return std::nullopt;
}

// A name in a number: its value must be known now.
std::optional<Number> number_named(const ExpansionScope& scope, std::string_view name) {
  const AttributeValue* attribute = find_attribute(scope.composite.attributes, name);
  if (const auto* number = attribute ? std::get_if<Number>(attribute) : nullptr) return *number;
  if (const auto* flag = attribute ? std::get_if<bool>(attribute) : nullptr) return *flag ? 1 : 0;
  const auto size = attribute ? size_of(*attribute) : size_named(scope.composite, name);
  if (!size || !size->is_constant()) return std::nullopt;
  return size->constant();
}

// "the expansion of 'softmax': ..." at the expansion.
Diagnostic& report(const ExpansionScope& scope, SourceLocation where, const std::string& message) {
  const Node& node = scope.composite.node;
  Diagnostic& error = scope.diagnostics.error(where.known() ? where : node.op->where,
                                              fmt::format("the expansion of '{}': {}", node.op->name, message));
  error.note(node.where, "expanded here");
  return error;
}

std::optional<Dim> known_size(const ExpansionScope& scope, const Expression& size, SourceLocation where) {
  auto value = size_at(scope.composite, size);
  if (!value) {
    report(scope, where, fmt::format("'{}' is no size that is known here", size.text))
        .advise("use an attribute, or a dim of the operands' shapes");
  }
  return value;
}

// The extents that "..." stands for in the patterns of the operands, which broadcast; nothing where it stands in none
// that is given.
std::optional<Shape> ellipsis_extents(const NodeScope& at) {
  const auto& operands = at.node.op->operands;
  std::optional<Shape> extents;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    const OperandSpec& operand = operands[std::min(i, operands.size() - 1)];
    if (at.node.inputs[i] == no_id || !operand.pattern) continue;
    const auto axis = std::find_if(operand.pattern->begin(), operand.pattern->end(),
                                   [](const PatternAxis& each) { return each.ellipsis; });
    if (axis == operand.pattern->end()) continue;
    const Shape& shape = at.graph.type(at.node.inputs[i]).shape;
    const auto first = shape.begin() + (axis - operand.pattern->begin());
    const auto count = static_cast<std::ptrdiff_t>(shape.size() + 1 - operand.pattern->size());
    if (!extents) extents.emplace();
    const auto misfit = broadcast_into(*extents, Shape(first, first + count));
    ensure(!misfit, "operands were inferred to broadcast");
  }
  return extents;
}

// "[$axis, 2 * D]": an attribute that is a list stands for all of its elements, "..." for the extents of the patterns'.
std::optional<AttributeValue> list_at(const ExpansionScope& scope, const std::vector<Expression>& items,
                                      SourceLocation where) {
  std::vector<Dim> list;
  for (const Expression& item : items) {
    if (item.text == "...") {
      const auto extents = ellipsis_extents(scope.composite);
      if (!extents) {
        report(scope, where, "no operand that is given has '...' in its shape");
        return std::nullopt;
      }
      list.insert(list.end(), extents->begin(), extents->end());
      continue;
    }
    const AttributeValue* attribute = whole_attribute(scope, item.text);
    if (const auto* several = attribute ? std::get_if<std::vector<Dim>>(attribute) : nullptr) {
      list.insert(list.end(), several->begin(), several->end());
      continue;
    }
    auto size = known_size(scope, item, where);
    if (!size) return std::nullopt;
    list.push_back(std::move(*size));
  }
  return list;
}

// "[0.5, $factor]".
std::optional<AttributeValue> numbers_at(const ExpansionScope& scope, const std::vector<Expression>& items,
                                         SourceLocation where) {
  std::vector<Number> list;
  for (const Expression& item : items) {
    const auto number = number_at(scope, item, where);
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

// The value as a specification's type; absent where it cannot be that.
std::optional<AttributeValue> as_type(const AttributeValue& value, AttributeType type) {
  const auto size = size_of(value);
  const bool is_whole = size && size->is_constant();
  switch (type) {
    case AttributeType::integer:
      return is_whole ? std::optional<AttributeValue>(size->constant()) : std::nullopt;
    case AttributeType::dim:
      return size ? std::optional<AttributeValue>(*size) : std::nullopt;
    case AttributeType::number:
      if (is_whole) return Number(size->constant());
      return std::holds_alternative<Number>(value) ? std::optional(value) : std::nullopt;
    case AttributeType::dims:
      if (size) return std::vector<Dim>{*size};
      return std::holds_alternative<std::vector<Dim>>(value) ? std::optional(value) : std::nullopt;
    case AttributeType::numbers:
      if (const auto* number = std::get_if<Number>(&value)) return std::vector<Number>{*number};
      return std::holds_alternative<std::vector<Number>>(value) ? std::optional(value) : std::nullopt;
    case AttributeType::dtype:
      if (const auto* name = std::get_if<std::string>(&value)) return dtype_from_name(*name);
      return std::holds_alternative<DType>(value) ? std::optional(value) : std::nullopt;
    case AttributeType::boolean:
      return std::holds_alternative<bool>(value) ? std::optional(value) : std::nullopt;
    case AttributeType::text:
      return std::holds_alternative<std::string>(value) ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

// What is given where a value of that type is asked for; not always of that type yet.
std::optional<AttributeValue> given_value(const ExpansionScope& scope, AttributeType type, const ExpansionValue& value,
                                          SourceLocation where) {
  const bool is_one = value.items.size() == 1;
  switch (type) {
    case AttributeType::boolean:
      if (value.text == "true" || value.text == "false") return value.text == "true";
      return value.text;
    case AttributeType::dtype:
      if (const auto dtype = dtype_named(scope.composite, value.text)) return *dtype;
      return value.text;
    case AttributeType::text:
      return value.text;
    case AttributeType::dims:
      return list_at(scope, value.items, where);
    case AttributeType::numbers:
      return numbers_at(scope, value.items, where);
    case AttributeType::number:
      if (!is_one) return value.text;
      return number_at(scope, value.items[0], where);
    case AttributeType::integer:
    case AttributeType::dim:
      if (!is_one) return value.text;
      return known_size(scope, value.items[0], where);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Number> number_at(const ExpansionScope& scope, const Expression& number, SourceLocation where) {
  const auto is_known = [&](const std::string& name) { return number_named(scope, name).has_value(); };
  const auto unknown = std::find_if_not(number.variables.begin(), number.variables.end(), is_known);
  if (unknown != number.variables.end()) {
    report(scope, where, fmt::format("'{}': the value of '{}' is not known", number.text, *unknown))
        .advise("use an attribute, or a dim of the operands' shapes");
    return std::nullopt;
  }
  const auto size = number.names.empty() ? std::nullopt : size_at(scope.composite, number);
  if (size && size->is_constant()) return Number(size->constant());  // of functions of sizes and dtypes
  if (number.steps.empty() || !number.names.empty()) {
    report(scope, where, fmt::format("'{}' is no number", number.text));
    return std::nullopt;
  }
  const Expression::Step& last = number.steps.back();  // what stands alone is exact
  if (last.operation == Expression::Operation::number) return last.number;
  if (last.operation == Expression::Operation::variable) return number_named(scope, number.variables[last.index]);
  return Number(evaluate(number, [&](std::string_view name) { return number_named(scope, name)->real(); }));
}

std::optional<AttributeValue> attribute_at(const ExpansionScope& scope, const AttributeSpec& spec,
                                           const ExpansionValue& from, SourceLocation where) {
  const AttributeValue* whole = whole_attribute(scope, from.text);
  const auto given = whole ? std::optional(*whole) : given_value(scope, spec.type, from, where);
  if (!given) return std::nullopt;
  auto value = as_type(*given, spec.type);
  if (!value) report(scope, where, fmt::format("'{}' cannot be the value of '{}'", from.text, spec.name));
  return value;
}

}  // namespace kgen
