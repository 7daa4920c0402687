#include "generator/load/read_expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/load/fields.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

using Names = std::vector<std::string>;

// The dims that the operands' shape patterns bind.
Names dims_of(const OpSpec& op) {
  Names names;
  for (const OperandSpec& operand : op.operands) {
    for (const PatternAxis& axis : operand.pattern.value_or(std::vector<PatternAxis>{})) {
      const bool is_new = std::find(names.begin(), names.end(), axis.name) == names.end();
      if (!axis.name.empty() && is_new) names.push_back(axis.name);
    }
  }
  return names;
}

// What sizes may name, and conditions with them.
Names names_of_sizes(const OpSpec& op, const Names& sizes) {
  Names names = dims_of(op);
  for (const AttributeSpec& attribute : op.attributes) {
    using enum AttributeType;
    if (attribute.type == integer || attribute.type == dim || attribute.type == dims) names.push_back(attribute.name);
  }
  names.insert(names.end(), sizes.begin(), sizes.end());
  return names;
}

Names names_of_conditions(const OpSpec& op) {
  Names names = names_of_sizes(op, {});
  for (const AttributeSpec& attribute : op.attributes) {
    if (attribute.type == AttributeType::boolean) names.push_back(attribute.name);
  }
  for (const auto& [variable, dtypes] : op.types) names.push_back(variable);
  return names;
}

// An expression over doubles may use the names that are `known`.
void validate_numbers(const Expression& expression, const std::string& what, const Names& known,
                      Diagnostics& diagnostics) {
  for (const std::string& name : expression.variables) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    diagnostics.error(expression.where, fmt::format("{}: there is no '{}'", what, name))
        .note(known.empty() ? "it can use numbers only" : "it can use " + quoted_list(known));
  }
}

void validate_size(const Expression& size, const OpSpec& op, const Names& sizes, Diagnostics& diagnostics) {
  const auto problem = size.empty() ? std::nullopt : size_problem(size, op, sizes);
  if (!problem) return;
  const Names known = names_of_sizes(op, sizes);
  diagnostics.error(size.where, fmt::format("the size '{}': {}", size.text, *problem))
      .note(known.empty() ? "it can use numbers only" : "it can use " + quoted_list(known));
}

void validate_sizes(const OpSpec& op, Diagnostics& diagnostics) {
  for (const AttributeSpec& attribute : op.attributes) {
    validate_size(attribute.count, op, {}, diagnostics);
    if (attribute.type != AttributeType::number) validate_size(attribute.default_expression, op, {}, diagnostics);
  }
  for (const SizeCondition& condition : op.conditions) {
    validate_size(condition.left, op, {}, diagnostics);
    validate_size(condition.right, op, {}, diagnostics);
  }
  Names sizes;
  for (const NamedSize& named : op.sizes) {
    validate_size(named.size, op, sizes, diagnostics);
    sizes.push_back(named.name);
  }
  sizes.emplace_back(axis_name);
  for (const ResultSpec& result : op.results) validate_size(result.extents, op, sizes, diagnostics);
}

// Its numbers may use what its nodes call "$name".
void validate_spelling(const OpSpec& op, const Expansion& spelling, Diagnostics& diagnostics) {
  validate_condition(spelling.when, op, fmt::format("the condition of a spelling of '{}'", op.name), diagnostics);
  Names known;
  for (const ExpansionNode& node : spelling.nodes) {
    for (const Expression& input : node.inputs) {
      if (input.text.starts_with('$')) known.push_back(input.text.substr(1));
    }
  }
  for (const auto& [name, number] : spelling.numbers) {
    const std::string what = fmt::format("the number '{}' of a spelling of '{}'", name, op.name);
    validate_numbers(number, what, known, diagnostics);
  }
}

}  // namespace

Expression expression_of(std::string_view text, SourceLocation where, const std::string& what,
                         std::span<const std::string_view> functions, Diagnostics& diagnostics) {
  std::string problem;
  Expression expression = parse_expression(text, &problem, functions).value_or(Expression{});
  if (expression.empty()) diagnostics.error(where, fmt::format("{}: {}", what, problem));
  expression.where = where;
  return expression;
}

Expression read_expression(Yaml value, const std::string& what, std::span<const std::string_view> functions,
                           Diagnostics& diagnostics) {
  const auto text = read_text(value, what, diagnostics);
  return text ? expression_of(*text, value.where(), what, functions, diagnostics) : Expression{};
}

Expression read_size(Yaml value, Diagnostics& diagnostics) {
  const std::string what = value.is_scalar() ? fmt::format("the size '{}'", value.text()) : "a size";
  return read_expression(value, what, node_functions(), diagnostics);
}

void validate_expressions(const OpSpec& op, Diagnostics& diagnostics) {
  const Names dims = dims_of(op);
  Names values;
  for (const OperandSpec& operand : op.operands) values.push_back(operand.name);
  for (const AttributeSpec& attribute : op.attributes) values.push_back(attribute.name);
  validate_numbers(op.definition, fmt::format("the definition of '{}'", op.name), values, diagnostics);
  for (const AttributeSpec& attribute : op.attributes) {
    if (attribute.type != AttributeType::number) continue;
    validate_numbers(attribute.default_expression, fmt::format("the default of '{}'", attribute.name), dims,
                     diagnostics);
  }
  validate_sizes(op, diagnostics);
  for (const Expansion& expansion : op.expansions) {
    validate_condition(expansion.when, op, fmt::format("the condition of an expansion of '{}'", op.name), diagnostics);
  }
  for (const Expansion& form : op.prepared) {
    validate_condition(form.when, op, fmt::format("the condition of a prepared form of '{}'", op.name), diagnostics);
  }
  for (const Expansion& spelling : op.spellings) validate_spelling(op, spelling, diagnostics);
}

void validate_condition(const Expression& condition, const OpSpec& op, const std::string& what,
                        Diagnostics& diagnostics) {
  const auto problem = condition.empty() ? std::nullopt : condition_problem(condition, op);
  if (!problem) return;
  const Names known = names_of_conditions(op);
  diagnostics.error(condition.where, fmt::format("{}: {}", what, *problem))
      .note(op.where, known.empty() ? fmt::format("'{}' has no names for conditions", op.name)
                                    : fmt::format("'{}' has {}", op.name, quoted_list(known)))
      .advise(
          "compare sizes and types: \"M <= 16 && T == f32\"; extent(operand, axis), rank(operand), given(operand) and "
          "constant(operand) ask about operands, and \"target == cpu\" what is planned for");
}

void validate_kernel_size(const Expression& size, const OpSpec& op, const std::string& what, Diagnostics& diagnostics) {
  const auto problem = size.empty() ? std::nullopt : size_problem(size, op);
  if (!problem) return;
  const Names known = names_of_sizes(op, {});
  diagnostics.error(size.where, fmt::format("{}: {}", what, *problem))
      .note(op.where, known.empty() ? fmt::format("'{}' has no names for sizes", op.name)
                                    : fmt::format("'{}' has {}", op.name, quoted_list(known)));
}

std::string condition_of(const KernelSignature& kernel) {
  return fmt::format("the condition of '{}' has no meaning", kernel.name);
}

std::string condition_of(const KernelSignature& kernel, const KernelOperand& operand) {
  return fmt::format("a condition on '{}' of '{}' has no meaning", operand.name, kernel.name);
}

std::string condition_of(const KernelSignature& kernel, const KernelParameter& parameter) {
  return fmt::format("a condition on '{}' of '{}' has no meaning", parameter.name, kernel.name);
}

std::string evaluations_of(const KernelSignature& kernel, const KernelOperand& operand) {
  return fmt::format("how often '{}' evaluates '{}' has no meaning", kernel.name, operand.name);
}

}  // namespace kgen
