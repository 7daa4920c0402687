// What an expansion says of attributes and numbers, at one composite node.
#pragma once

#include <optional>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {

// The composite node that an expansion stands for. Each function reports, at the expansion's place, what it cannot tell.
struct ExpansionScope {
  const NodeScope& composite;
  Diagnostics& diagnostics;
};

// An attribute of an inner node: "$axis", "[$axis]", "true", "f32", "-1", "[0, -1]", "D / 2".
std::optional<AttributeValue> attribute_at(const ExpansionScope& scope, const AttributeSpec& spec,
                                           const ExpansionValue& value, SourceLocation where);

// A number that stands where a tensor may: "0.5", "$epsilon", "-inf".
std::optional<Number> number_at(const ExpansionScope& scope, const Expression& number, SourceLocation where);

}  // namespace kgen
