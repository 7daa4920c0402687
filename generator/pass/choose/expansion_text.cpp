#include "generator/pass/choose/expansion_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "generator/pass/infer/infer_node.hpp"

namespace kgen {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// As the expression language writes it: the mark of an attribute says nothing that its name does not, and YAML's .inf
// and .nan have no point.
std::string as_expression(const std::string& text) {
  std::string result = text;
  std::erase(result, '$');
  for (const std::string_view name : {".inf", ".nan"}) {
    if (const auto found = result.find(name); found != std::string::npos) result.erase(found, 1);
  }
  return result;
}

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

// A name in a size: an attribute, or a dim of the composite's shape patterns.
std::optional<Dim> size_named(const ExpansionScope& scope, std::string_view name) {
  if (const AttributeValue* attribute = find_attribute(scope.composite.attributes, name)) return size_of(*attribute);
  return pattern_extent(scope.graph, scope.composite, name);
}

// A name in a number: its value must be known now.
std::optional<Number> number_named(const ExpansionScope& scope, std::string_view name) {
  if (const AttributeValue* attribute = find_attribute(scope.composite.attributes, name)) {
    if (const auto* number = std::get_if<Number>(attribute)) return *number;
    if (const auto* flag = std::get_if<bool>(attribute)) return *flag ? 1 : 0;
  }
  const auto size = size_named(scope, name);
  if (!size || !size->is_constant()) return std::nullopt;
  return size->constant();
}

// A name in a condition: a size counts as the greatest that it may be.
std::optional<double> bound_named(const ExpansionScope& scope, std::string_view name) {
  if (const auto number = number_named(scope, name)) return number->real();
  const auto size = size_named(scope, name);
  if (!size) return std::nullopt;
  return static_cast<double>(size->range(scope.ranges).high);
}

// "the expansion of 'softmax': ..." at the expansion.
Diagnostic& report(const ExpansionScope& scope, SourceLocation where, const std::string& message) {
  Diagnostic& error =
      scope.diagnostics.error(where.known() ? where : scope.composite.op->where,
                              fmt::format("the expansion of '{}': {}", scope.composite.op->name, message));
  error.note(scope.composite.where, "expanded here");
  return error;
}

constexpr std::array<std::string_view, 3> condition_functions = {"extent", "given", "rank"};

// The functions of conditions at one node. `problem` is set where arguments make no sense.
double call_condition_function(const ExpansionScope& scope, std::string_view function,
                               std::span<const ExpressionArgument> arguments, std::string& problem) {
  const bool is_extent = function == "extent";
  const auto position = arguments.empty() ? std::nullopt : operand_position(*scope.composite.op, arguments[0].name);
  if (!position || arguments.size() != (is_extent ? 2 : 1)) {
    problem = is_extent ? "extent takes an operand and an axis" : fmt::format("{} takes an operand", function);
    return 0;
  }
  const auto& inputs = scope.composite.inputs;
  const bool given = *position < inputs.size() && inputs[*position] != no_id;
  if (function == "given") return given ? 1 : 0;
  if (function == "rank") return given ? static_cast<double>(scope.graph.type(inputs[*position]).shape.size()) : 0;
  const auto axis_number =
      arguments[1].name.empty() ? std::optional(arguments[1].value) : bound_named(scope, arguments[1].name);
  if (!axis_number) {
    problem = fmt::format("there is no attribute '{}'", arguments[1].name);
    return 0;
  }
  if (!given) return 0;
  const Shape& shape = scope.graph.type(inputs[*position]).shape;
  const auto rank = static_cast<double>(shape.size());
  const double axis = *axis_number < 0 ? *axis_number + rank : *axis_number;
  if (!(axis >= 0 && axis < rank)) return 0;
  return static_cast<double>(shape[static_cast<std::size_t>(axis)].range(scope.ranges).high);
}

// The text as an expression all of whose names `lookup` knows.
template <class Lookup>
std::optional<Expression> expression_from(const ExpansionScope& scope, const std::string& text, SourceLocation where,
                                          Lookup lookup, std::span<const std::string_view> functions = {}) {
  std::string problem;
  auto expression = parse_expression(as_expression(text), &problem, functions);
  if (!expression) {
    report(scope, where, fmt::format("'{}': {}", text, problem));
    return std::nullopt;
  }
  for (const std::string& name : expression->variables) {
    if (lookup(scope, name)) continue;
    report(scope, where, fmt::format("'{}': the value of '{}' is not known", text, name))
        .advise("use an attribute, or a dim of the operands' shapes");
    return std::nullopt;
  }
  return expression;
}

std::optional<Dim> size_from_text(const ExpansionScope& scope, const std::string& text, SourceLocation where) {
  const auto expression = expression_from(scope, text, where, size_named);
  if (!expression) return std::nullopt;
  auto size = evaluate_dim(*expression, [&](std::string_view name) { return size_named(scope, name); });
  if (!size) report(scope, where, fmt::format("'{}' is not a size", text));
  return size;
}

// "[$axis, 2 * D]": an attribute that is a list stands for all of its elements.
std::optional<AttributeValue> list_from_text(const ExpansionScope& scope, std::string_view text, SourceLocation where) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = trim(text.substr(1, text.size() - 2));
  std::vector<Dim> list;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const AttributeValue* attribute = whole_attribute(scope, item);
    if (const auto* several = attribute ? std::get_if<std::vector<Dim>>(attribute) : nullptr) {
      list.insert(list.end(), several->begin(), several->end());
      continue;
    }
    auto size = size_from_text(scope, std::string(item), where);
    if (!size) return std::nullopt;
    list.push_back(std::move(*size));
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

// What text means where a value of that type is asked for; not always of that type yet.
std::optional<AttributeValue> value_from_text(const ExpansionScope& scope, AttributeType type, const std::string& text,
                                              SourceLocation where) {
  switch (type) {
    case AttributeType::boolean:
      if (text == "true" || text == "false") return text == "true";
      return text;
    case AttributeType::text:
    case AttributeType::dtype:
      return text;
    case AttributeType::number:
      return operand_number(scope, text, where);
    case AttributeType::integer:
    case AttributeType::dim:
      return size_from_text(scope, text, where);
    case AttributeType::dims:
      return list_from_text(scope, trim(text), where);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> operand_position(const OpSpec& op, std::string_view name) {
  const auto found =
      std::find_if(op.operands.begin(), op.operands.end(), [&](const OperandSpec& each) { return each.name == name; });
  if (found == op.operands.end()) return std::nullopt;
  return static_cast<std::size_t>(found - op.operands.begin());
}

std::optional<Expression> parse_condition(const std::string& when, std::string* problem) {
  return parse_expression(as_expression(when), problem, condition_functions);
}

std::optional<bool> condition_holds(const ExpansionScope& scope, const std::string& when) {
  const SourceLocation where = scope.composite.op->where;
  const auto expression = expression_from(scope, when, where, bound_named, condition_functions);
  if (!expression) return std::nullopt;
  std::string problem;
  const double value = evaluate(
      *expression, [&](std::string_view name) { return *bound_named(scope, name); },
      [&](std::string_view function, std::span<const ExpressionArgument> arguments) {
        return call_condition_function(scope, function, arguments, problem);
      });
  if (problem.empty()) return value != 0;
  report(scope, where, fmt::format("'{}': {}", when, problem));
  return std::nullopt;
}

std::optional<Number> operand_number(const ExpansionScope& scope, const std::string& text, SourceLocation where) {
  const auto expression = expression_from(scope, text, where, number_named);
  if (!expression) return std::nullopt;
  const Expression::Step& last = expression->steps.back();  // what stands alone is exact
  if (last.operation == Expression::Operation::number) return last.number;
  if (last.operation == Expression::Operation::variable) return number_named(scope, expression->variables[last.index]);
  return Number(evaluate(*expression, [&](std::string_view name) { return number_named(scope, name)->real(); }));
}

std::optional<AttributeValue> attribute_from_text(const ExpansionScope& scope, const AttributeSpec& spec,
                                                  const std::string& text, SourceLocation where) {
  const AttributeValue* whole = whole_attribute(scope, text);
  const auto given = whole ? std::optional(*whole) : value_from_text(scope, spec.type, text, where);
  if (!given) return std::nullopt;
  auto value = as_type(*given, spec.type);
  if (!value) report(scope, where, fmt::format("'{}' cannot be the value of '{}'", text, spec.name));
  return value;
}

}  // namespace kgen
