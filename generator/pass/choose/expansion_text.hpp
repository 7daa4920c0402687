// What the text in an expansion means at one composite node: conditions, attributes and numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/spec/expression.hpp"

namespace kgen {

// The composite node that text refers to. Each function reports at the expansion's place what it cannot work out.
struct ExpansionScope {
  const Graph& graph;
  const Node& composite;
  const DimRanges& ranges;
  Diagnostics& diagnostics;
};

// The position of the composite's operand of that name.
std::optional<std::size_t> operand_position(const OpSpec& op, std::string_view name);

// A condition as an expression: over attributes and dims of the shape patterns, with the functions extent, rank and given.
// Where it is none, `problem` says why.
std::optional<Expression> parse_condition(const std::string& when, std::string* problem);

// Whether the condition `when` of an expansion holds; nothing where it cannot be worked out.
std::optional<bool> condition_holds(const ExpansionScope& scope, const std::string& when);

// An attribute of an inner node, from its text: "$axis", "[$axis]", "true", "f32", "-1", "[0, -1]", "D / 2".
std::optional<AttributeValue> attribute_from_text(const ExpansionScope& scope, const AttributeSpec& spec,
                                                  const std::string& text, SourceLocation where);

// A number that stands where a tensor may: "0.5", "$epsilon", "-inf".
std::optional<Number> operand_number(const ExpansionScope& scope, const std::string& text, SourceLocation where);

}  // namespace kgen
