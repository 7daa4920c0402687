#include "generator/import/rule_value.hpp"

#include <algorithm>
#include <span>

#include "generator/import/dim_arithmetic.hpp"
#include "generator/import/rule_functions.hpp"
#include "generator/spec/expression.hpp"

namespace kgen {
namespace {

using Operation = Expression::Operation;

RuleValue of_element(ContentElement element) {
  if (const Dim* dim = std::get_if<Dim>(&element)) return {*dim};
  return {std::get<double>(element)};
}

RuleValue look_up(std::string_view name, const RuleBindings& bindings) {
  if (const auto found = bindings.find(name); found != bindings.end()) return found->second;
  if (const auto dtype = dtype_from_name(name)) return {*dtype};
  return {std::string(name)};
}

// Words and dtypes are the same or not.
std::optional<RuleValue> compare(Operation operation, const RuleValue& a, const RuleValue& b) {
  if (operation != Operation::equal && operation != Operation::not_equal) return std::nullopt;
  const bool wanted = operation == Operation::equal;
  const auto* x = std::get_if<std::string>(&a.value);
  const auto* y = std::get_if<std::string>(&b.value);
  if (x && y) return RuleValue{Dim((*x == *y) == wanted)};
  const auto* s = std::get_if<DType>(&a.value);
  const auto* t = std::get_if<DType>(&b.value);
  if (s && t) return RuleValue{Dim((*s == *t) == wanted)};
  const RuleList* list = a.as_list();
  const RuleList* other = b.as_list();
  if (!list || !other) return RuleValue{Dim(!wanted)};
  bool same = list->size() == other->size();
  for (std::size_t i = 0; same && i < list->size(); ++i) {
    const auto p = (*list)[i].as_dim(), q = (*other)[i].as_dim();
    same = p && q && *p == *q;
  }
  return RuleValue{Dim(same == wanted)};
}

// Nothing: what depends on run-time sizes in a way that decides more than a size.
using Operand = std::optional<RuleValue>;

std::optional<bool> truth_of(const Operand& value, const DimRanges& ranges) {
  return value ? truth_of(*value, ranges) : std::nullopt;
}

// What one side decides, the other need not know.
Operand connect(Operation operation, std::span<const Operand> operands, const DimRanges& ranges) {
  const bool decides = operation == Operation::logical_or;
  const auto a = truth_of(operands[0], ranges), b = truth_of(operands[1], ranges);
  if ((a && *a == decides) || (b && *b == decides)) return RuleValue{Dim(decides)};
  return a && b ? Operand(RuleValue{Dim(!decides)}) : std::nullopt;
}

Operand operate(Operation operation, std::span<const RuleValue> operands, const DimRanges& ranges) {
  std::vector<ContentElement> elements;
  for (const RuleValue& each : operands) {
    if (auto element = each.as_element()) elements.push_back(std::move(*element));
  }
  if (elements.size() < operands.size()) {
    if (!std::all_of(operands.begin(), operands.end(), [](const RuleValue& each) { return each.is_given(); })) {
      return RuleValue{};  // it may be the side that is not chosen
    }
    return operands.size() == 2 ? compare(operation, operands[0], operands[1]) : RuleValue{};
  }
  auto result = apply(operation, elements, ranges);
  return result ? Operand(of_element(std::move(*result))) : RuleValue{};
}

}  // namespace

const RuleList* RuleValue::as_list() const {
  const auto* list = std::get_if<std::shared_ptr<const RuleList>>(&value);
  return list ? list->get() : nullptr;
}

std::optional<Dim> RuleValue::as_dim() const {
  const Dim* dim = std::get_if<Dim>(&value);
  return dim ? std::optional<Dim>(*dim) : std::nullopt;
}

std::optional<std::int64_t> RuleValue::as_integer() const {
  const Dim* dim = std::get_if<Dim>(&value);
  return dim && dim->is_constant() ? std::optional(dim->constant()) : std::nullopt;
}

std::optional<ContentElement> RuleValue::as_element() const {
  if (const Dim* dim = std::get_if<Dim>(&value)) return ContentElement(*dim);
  if (const double* real = std::get_if<double>(&value)) return ContentElement(*real);
  return std::nullopt;
}

RuleValue value_of(const Content& content) {
  if (content.shape.empty()) return of_element(content.elements[0]);
  RuleList list;
  for (const ContentElement& each : content.elements) list.push_back(of_element(each));
  return RuleValue::list(std::move(list));
}

std::optional<RuleValue> evaluate(const Expression& expression, const RuleBindings& bindings, const DimRanges& ranges) {
  const auto step_of = [&](const Expression::Step& step, std::span<const Operand> operands) -> std::optional<Operand> {
    switch (step.operation) {
      case Operation::number:
        if (const auto whole = step.number.as_signed()) return RuleValue{Dim(*whole)};
        return RuleValue{step.number.real()};
      case Operation::variable:
        return look_up(expression.variables[step.index], bindings);
      case Operation::name:
        return look_up(expression.names[step.index], bindings);
      case Operation::choose: {
        const auto truth = truth_of(operands[0], ranges);
        return truth ? operands[*truth ? 1 : 2] : Operand();
      }
      case Operation::logical_and:
      case Operation::logical_or:
        return connect(step.operation, operands, ranges);
      default:
        break;
    }
    std::vector<RuleValue> known;
    for (const Operand& each : operands) {
      if (!each) return Operand();
      known.push_back(*each);
    }
    if (step.operation == Operation::call) return call_function(expression.names[step.index], known, ranges);
    return operate(step.operation, known, ranges);
  };
  return run<Operand>(expression, step_of).value_or(std::nullopt);
}

std::optional<RuleValue> evaluate(const ImportArgument& argument, const RuleBindings& bindings,
                                  const DimRanges& ranges) {
  if (!argument.is_list) {
    return argument.items.empty() ? RuleValue{} : evaluate(argument.items[0], bindings, ranges);
  }
  RuleList items;
  for (const Expression& each : argument.items) {
    auto value = evaluate(each, bindings, ranges);
    if (!value) return std::nullopt;
    if (const RuleList* list = value->as_list()) {
      items.insert(items.end(), list->begin(), list->end());
    } else {
      items.push_back(std::move(*value));
    }
  }
  return RuleValue::list(std::move(items));
}

std::optional<bool> truth_of(const RuleValue& value, const DimRanges& ranges) {
  const auto element = value.as_element();
  return element ? truth_of(*element, ranges) : std::nullopt;
}

}  // namespace kgen
