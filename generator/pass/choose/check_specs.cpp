#include "generator/pass/choose/check_specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/pass/choose/expansion_text.hpp"
#include "generator/pass/infer/infer_context.hpp"

namespace kgen {
namespace {

using Names = std::vector<std::string>;

// The dims that the operands' shape patterns bind.
void append_dims(const OpSpec& op, Names& names) {
  for (const OperandSpec& operand : op.operands) {
    if (!operand.pattern) continue;
    for (const PatternAxis& axis : *operand.pattern) {
      if (!axis.name.empty() && std::find(names.begin(), names.end(), axis.name) == names.end())
        names.push_back(axis.name);
    }
  }
}

void append_operands(const OpSpec& op, Names& names) {
  for (const OperandSpec& operand : op.operands) names.push_back(operand.name);
}

void append_attributes(const OpSpec& op, Names& names) {
  for (const AttributeSpec& attribute : op.attributes) names.push_back(attribute.name);
}

// Reports at `where` that `text` ("the definition of 'f'") is no expression, or uses a name that is not in `known`.
void check(const std::string& text, SourceLocation where, const std::optional<Expression>& expression,
           const std::string& problem, const Names& known, Diagnostics& diagnostics) {
  if (!expression) {
    diagnostics.error(where, fmt::format("{}: {}", text, problem));
    return;
  }
  for (const std::string& name : expression->variables) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    diagnostics.error(where, fmt::format("{}: there is no '{}'", text, name))
        .note(known.empty() ? "it can use numbers only" : "it can use " + quoted_list(known));
  }
}

// The same for a size, which can ask about operands and attributes as well.
void check_size(const OpSpec& op, const std::string& size, SourceLocation where, const Names& known,
                Diagnostics& diagnostics) {
  std::string problem;
  auto expression = parse_size(size, &problem);
  if (expression) {
    Names asked = known;
    append_operands(op, asked);
    Names& names = expression->variables;
    for (const std::string& name : expression->names) {
      const bool is_function = name == "extent" || name == "rank" || name == "item";
      if (!is_function && std::find(asked.begin(), asked.end(), name) == asked.end()) names.push_back(name);
    }
  }
  check(fmt::format("the size '{}'", size), where, expression, problem, known, diagnostics);
}

// What attributes, conditions and results ask of sizes. `dims` are those of the patterns.
void check_sizes(const OpSpec& op, const Names& dims, Diagnostics& diagnostics) {
  Names known = dims;
  append_attributes(op, known);
  for (const AttributeSpec& attribute : op.attributes) {
    if (!attribute.count.empty()) check_size(op, attribute.count, attribute.where, known, diagnostics);
  }
  for (const SizeCondition& condition : op.conditions) {
    check_size(op, condition.left, condition.where, known, diagnostics);
    check_size(op, condition.right, condition.where, known, diagnostics);
  }
  for (const NamedSize& named : op.sizes) {
    check_size(op, named.size, named.where, known, diagnostics);
    known.push_back(named.name);
  }
  known.emplace_back(axis_name);
  for (const ResultSpec& result : op.results) {
    if (!result.extents.empty()) check_size(op, result.extents, result.where, known, diagnostics);
  }
}

// What the nodes of a spelling call "$name".
void append_numbers(const Expansion& spelling, Names& names) {
  for (const ExpansionNode& node : spelling.nodes) {
    for (const std::string& input : node.inputs) {
      if (input.starts_with('$')) names.push_back(input.substr(1));
    }
  }
}

// `known`: dims and attributes.
void check_spelling(const OpSpec& op, const Expansion& spelling, const Names& known, Diagnostics& diagnostics) {
  std::string problem;
  Names numbers;
  append_numbers(spelling, numbers);
  for (const auto& [name, text] : spelling.numbers) {
    const auto expression = parse_expression(text, &problem);
    check(fmt::format("the number '{}' of a spelling of '{}'", name, op.name), op.where, expression, problem, numbers,
          diagnostics);
  }
  if (spelling.when.empty()) return;
  const auto expression = parse_condition(spelling.when, &problem);
  check(fmt::format("the condition of a spelling of '{}'", op.name), spelling.where, expression, problem, known,
        diagnostics);
}

void check_spec(const OpSpec& op, Diagnostics& diagnostics) {
  std::string problem;
  if (!op.definition.empty()) {
    Names known;
    append_operands(op, known);
    append_attributes(op, known);
    const auto expression = parse_expression(op.definition, &problem);
    check(fmt::format("the definition of '{}'", op.name), op.definition_where, expression, problem, known, diagnostics);
  }
  Names dims;
  append_dims(op, dims);
  for (const AttributeSpec& attribute : op.attributes) {
    if (attribute.default_expression.empty()) continue;
    const auto expression = parse_default(attribute, &problem);
    check(fmt::format("the default of '{}'", attribute.name), attribute.where, expression, problem, dims, diagnostics);
  }
  check_sizes(op, dims, diagnostics);
  append_attributes(op, dims);
  for (const Expansion& expansion : op.expansions) {
    if (expansion.when.empty()) continue;
    const auto expression = parse_condition(expansion.when, &problem);
    check(fmt::format("the condition of an expansion of '{}'", op.name), expansion.where, expression, problem, dims,
          diagnostics);
  }
  for (const Expansion& spelling : op.spellings) check_spelling(op, spelling, dims, diagnostics);
}

}  // namespace

void check_specs(const OpSet& ops, Diagnostics& diagnostics) {
  for (const OpSpec& op : ops.ops) check_spec(op, diagnostics);
}

}  // namespace kgen
