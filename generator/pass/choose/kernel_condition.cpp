#include "generator/pass/choose/kernel_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "generator/base/ensure.hpp"
#include "generator/pass/infer/infer_node.hpp"

namespace kgen {
namespace {

using Operation = Expression::Operation;

constexpr std::array<std::string_view, 3> functions = {"extent", "rank", "given"};

// Where operands of one type are read from memory of several, a variable stands for all of them.
using DTypes = std::set<DType>;
// What a part of a condition is: a size, a type, a condition, or a name that a function takes.
using Part = std::variant<Dim, DTypes, Proof, std::string_view>;

// The operator, and the node where it is used; without a node every size is unknown.
struct Scope {
  const OpSpec& op;
  const ConditionScope* at = nullptr;
};

// ---- logic ----------------------------------------------------------------------------------------------------------

Proof negation(Proof proof) {
  return proof == Proof::sometimes ? proof : proof == Proof::always ? Proof::never : Proof::always;
}

// `a` <= `b`.
Proof at_most(const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (provably_at_most(a, b, ranges)) return Proof::always;
  return provably_at_most(b + 1, a, ranges) ? Proof::never : Proof::sometimes;
}

Proof equal(const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (a == b) return Proof::always;
  const bool apart = at_most(a, b, ranges) == Proof::never || at_most(b, a, ranges) == Proof::never;
  return apart ? Proof::never : Proof::sometimes;
}

Proof equal(const DTypes& a, const DTypes& b) {
  if (a == b && a.size() == 1) return Proof::always;
  const bool may_be = std::any_of(a.begin(), a.end(), [&](DType each) { return b.contains(each); });
  return may_be ? Proof::sometimes : Proof::never;
}

std::optional<Part> sizes_joined(Operation operation, const Dim& a, const Dim& b, const DimRanges& ranges) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::divide:
      return Dim::floor_divide(a, b);
    case Operation::less_equal:
      return at_most(a, b, ranges);
    case Operation::greater_equal:
      return at_most(b, a, ranges);
    case Operation::less:
      return at_most(a + 1, b, ranges);
    case Operation::greater:
      return at_most(b + 1, a, ranges);
    case Operation::equal:
      return equal(a, b, ranges);
    case Operation::not_equal:
      return negation(equal(a, b, ranges));
    default:
      return std::nullopt;
  }
}

// Nothing where the two cannot be joined so.
std::optional<Part> joined(Operation operation, const Part& a, const Part& b, const DimRanges& ranges) {
  if (const auto* x = std::get_if<Dim>(&a), *y = std::get_if<Dim>(&b); x && y) {
    return sizes_joined(operation, *x, *y, ranges);
  }
  if (const auto* x = std::get_if<DTypes>(&a), *y = std::get_if<DTypes>(&b); x && y) {
    if (operation == Operation::equal) return equal(*x, *y);
    return operation == Operation::not_equal ? std::optional<Part>(negation(equal(*x, *y))) : std::nullopt;
  }
  if (const auto* x = std::get_if<Proof>(&a), *y = std::get_if<Proof>(&b); x && y) {
    if (operation == Operation::logical_and) return std::min(*x, *y);
    return operation == Operation::logical_or ? std::optional<Part>(std::max(*x, *y)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Part> negated(Operation operation, const Part& a) {
  if (const auto* size = std::get_if<Dim>(&a); size && operation == Operation::negate) return Dim() - *size;
  if (const auto* proof = std::get_if<Proof>(&a); proof && operation == Operation::logical_not) return negation(*proof);
  return std::nullopt;
}

// ---- names ----------------------------------------------------------------------------------------------------------

bool in_patterns(const OpSpec& op, std::string_view name) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const OperandSpec& operand) {
    const auto is_named = [&](const PatternAxis& axis) { return axis.name == name; };
    return operand.pattern && std::any_of(operand.pattern->begin(), operand.pattern->end(), is_named);
  });
}

std::optional<Part> attribute_part(const AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? Proof::always : Proof::never;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Dim(*integer);
  if (const auto* size = std::get_if<Dim>(&value)) return *size;
  return std::nullopt;
}

std::optional<Part> attribute_named(const Scope& scope, const AttributeSpec& spec) {
  if (scope.at) return attribute_part(*find_attribute(scope.at->node.attributes, spec.name));
  switch (spec.type) {
    case AttributeType::boolean:
      return Proof::sometimes;
    case AttributeType::integer:
    case AttributeType::dim:
      return Dim::symbol(spec.name);
    default:
      return std::nullopt;
  }
}

// The dtypes of the operands given whose type is that variable.
DTypes dtypes_of_variable(const ConditionScope& at, std::string_view variable) {
  DTypes dtypes;
  const auto& operands = at.node.op->operands;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    const OperandSpec& operand = operands[std::min(i, operands.size() - 1)];
    if (operand.type == variable && at.node.inputs[i] != no_id) dtypes.insert(at.graph.type(at.node.inputs[i]).dtype);
  }
  return dtypes.empty() ? DTypes{at.graph.type(at.node.outputs[0]).dtype} : dtypes;
}

std::optional<Part> part_named(const Scope& scope, std::string_view name) {
  if (in_patterns(scope.op, name)) {
    // No operand that has it was given: nothing is known.
    return scope.at ? pattern_extent(scope.at->graph, scope.at->node, name).value_or(Dim::symbol(name))
                    : Dim::symbol(name);
  }
  if (const AttributeSpec* spec = scope.op.attribute(name)) return attribute_named(scope, *spec);
  if (const auto variable = scope.op.types.find(std::string(name)); variable != scope.op.types.end()) {
    return scope.at ? dtypes_of_variable(*scope.at, name) : DTypes{variable->second.front()};
  }
  if (const auto dtype = dtype_from_name(name)) return DTypes{*dtype};
  return std::nullopt;
}

std::optional<Part> extent_of(const ConditionScope& at, ValueId operand, const Dim& axis) {
  if (operand == no_id) return Dim(0);
  const Shape& shape = at.graph.type(operand).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t place = axis.constant() < 0 ? axis.constant() + rank : axis.constant();
  return place >= 0 && place < rank ? shape[static_cast<std::size_t>(place)] : Dim(0);
}

// The axis that a function's second argument is: a number, or an attribute.
std::optional<Dim> axis_of(const Scope& scope, const Part& part) {
  if (const auto* size = std::get_if<Dim>(&part)) return *size;
  const auto* name = std::get_if<std::string_view>(&part);
  const auto found = name ? part_named(scope, *name) : std::nullopt;
  const auto* size = found ? std::get_if<Dim>(&*found) : nullptr;
  return size ? std::optional(*size) : std::nullopt;
}

// extent(operand, axis), rank(operand) or given(operand) of an operand that may be left out.
std::optional<Part> call_at(const ConditionScope& at, std::string_view function, ValueId operand, const Dim& axis) {
  if (function == "extent") return extent_of(at, operand, axis);
  if (function == "given") return operand == no_id ? Proof::never : Proof::always;
  return Dim(operand == no_id ? 0 : static_cast<std::int64_t>(at.graph.type(operand).shape.size()));
}

std::optional<Part> call(const Scope& scope, std::string_view function, std::span<const Part> arguments) {
  const std::size_t takes = function == "extent" ? 2 : 1;
  const auto* name = arguments.size() == takes ? std::get_if<std::string_view>(&arguments[0]) : nullptr;
  if (!name) return std::nullopt;
  const auto& operands = scope.op.operands;
  const auto operand =
      std::find_if(operands.begin(), operands.end(), [&](const auto& each) { return each.name == *name; });
  const auto axis = takes == 2 ? axis_of(scope, arguments[1]) : std::optional(Dim());
  if (operand == operands.end() || !axis) return std::nullopt;
  if (!scope.at) return function == "given" ? Part(Proof::sometimes) : Part(Dim::symbol(function));
  const auto position = static_cast<std::size_t>(operand - operands.begin());
  const auto& inputs = scope.at->node.inputs;
  return call_at(*scope.at, function, position < inputs.size() ? inputs[position] : no_id, *axis);
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

std::size_t operands_of(const Expression::Step& step) {
  switch (step.operation) {
    case Operation::number:
    case Operation::variable:
    case Operation::name:
      return 0;
    case Operation::call:
      return step.count;
    case Operation::negate:
    case Operation::logical_not:
      return 1;
    default:
      return 2;
  }
}

// One step on the parts that it takes; else `problem` says what is wrong with it.
std::optional<Part> step_part(const Expression& condition, const Expression::Step& step, const Scope& scope,
                              std::span<const Part> parts, const DimRanges& ranges, std::string& problem) {
  std::optional<Part> part;
  switch (step.operation) {
    case Operation::number:
      if (const auto whole = step.number.as_signed(); whole && std::abs(step.number.real()) < 1e15) return Dim(*whole);
      problem = fmt::format("{} is not a whole number", step.number);
      return std::nullopt;
    case Operation::variable:
      part = part_named(scope, condition.variables[step.index]);
      if (!part)
        problem =
            fmt::format("'{}' is no size, type or switch of '{}'", condition.variables[step.index], scope.op.name);
      return part;
    case Operation::name:
      return std::string_view(condition.names[step.index]);
    case Operation::call:
      part = call(scope, condition.names[step.index], parts);
      if (!part) problem = "extent takes an operand and an axis, rank and given take an operand";
      return part;
    case Operation::negate:
    case Operation::logical_not:
      part = negated(step.operation, parts[0]);
      break;
    default:
      part = joined(step.operation, parts[0], parts[1], ranges);
  }
  if (!part) problem = "sizes are added, multiplied and compared, types are == or !=, and conditions are joined";
  return part;
}

std::optional<Proof> prove(const Expression& condition, const Scope& scope, const DimRanges& ranges,
                           std::string& problem) {
  std::vector<Part> stack;
  for (const Expression::Step& step : condition.steps) {
    const std::size_t taken = operands_of(step);
    if (step.operation == Operation::choose || taken > stack.size()) {
      problem = "a condition has no functions of numbers and no ?:";
      return std::nullopt;
    }
    auto part = step_part(condition, step, scope, std::span(stack).last(taken), ranges, problem);
    if (!part) return std::nullopt;
    stack.resize(stack.size() - taken);
    stack.push_back(std::move(*part));
  }
  if (const auto* proof = std::get_if<Proof>(&stack.back())) return *proof;
  problem = "it is no condition";
  return std::nullopt;
}

void report(const KernelSignature& kernel, const OpSpec& op, const std::string& problem, Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const OperandSpec& operand : op.operands) {
    for (const PatternAxis& axis : operand.pattern.value_or(std::vector<PatternAxis>{})) {
      const bool is_new = std::find(known.begin(), known.end(), axis.name) == known.end();
      if (!axis.name.empty() && is_new) known.push_back(axis.name);
    }
  }
  for (const AttributeSpec& attribute : op.attributes) {
    if (attribute_named({op}, attribute)) known.push_back(attribute.name);
  }
  for (const auto& [variable, dtypes] : op.types) known.push_back(variable);
  Diagnostic& error = diagnostics.error(kernel.when_where,
                                        fmt::format("the condition of '{}' has no meaning: {}", kernel.name, problem));
  error.note(op.where, known.empty() ? fmt::format("'{}' has no names for conditions", op.name)
                                     : fmt::format("'{}' has {}", op.name, quoted_list(known)));
  error.advise(
      "compare sizes and types: \"M <= 16 && T == f32\"; extent(operand, axis), rank(operand) and "
      "given(operand) ask about operands");
}

}  // namespace

Proof prove_condition(const Expression& condition, const ConditionScope& scope) {
  std::string problem;
  const auto proof = prove(condition, {*scope.node.op, &scope}, scope.ranges, problem);
  ensure(proof.has_value(), "check_kernel_conditions accepts only what can be proved");
  return proof.value_or(Proof::never);
}

std::string condition_facts(const Expression& condition, const ConditionScope& scope) {
  std::string facts;
  for (const std::string& name : condition.variables) {
    if (dtype_from_name(name)) continue;
    const auto part = part_named({*scope.node.op, &scope}, name);
    std::string fact;
    if (const auto* size = part ? std::get_if<Dim>(&*part) : nullptr) {
      fact = size->text();
      if (!size->is_constant()) {
        const DimRange range = size->range(scope.ranges);
        fact = fmt::format("{}{}..{}", fact == name ? "" : fact + ", ", range.low, range.high);
      }
    } else if (const auto* dtypes = part ? std::get_if<DTypes>(&*part) : nullptr) {
      for (const DType each : *dtypes) fact += fmt::format("{}{}", fact.empty() ? "" : " and ", info(each).name);
    } else if (const auto* flag = part ? std::get_if<Proof>(&*part) : nullptr) {
      fact = *flag == Proof::always ? "true" : "false";
    }
    facts += fmt::format("{}{} is {}", facts.empty() ? "" : "; ", name, fact);
  }
  return facts;
}

std::optional<Expression> condition_of(const KernelSignature& kernel) {
  return kernel.when.empty() ? std::nullopt : parse_expression(kernel.when, nullptr, functions);
}

void check_kernel_conditions(const OpSet& set, Diagnostics& diagnostics) {
  for (const KernelSignature& kernel : set.kernels) {
    const OpSpec* op = set.find(kernel.op);
    if (kernel.when.empty() || !op) continue;
    std::string problem;
    const auto condition = parse_expression(kernel.when, &problem, functions);
    if (condition && prove(*condition, {*op}, {}, problem)) continue;
    report(kernel, *op, problem, diagnostics);
  }
}

}  // namespace kgen
