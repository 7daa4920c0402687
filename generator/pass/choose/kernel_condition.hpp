// The condition under which a kernel may be used, its `when`: "M <= 16 && T == f32". It is an expression (see
// expression.hpp) that compares sizes (== != < <= > >=) and types (== !=), and joins that with &&, || and !.
//   sizes       whole numbers; names in the operator's shape patterns; attributes of the types integer and dim;
//               extent(operand, axis), 0 where there is no such axis; rank(operand); + - * / (rounding down) of sizes
//   types       the operator's type variables, each of which stands for the dtypes of all operands of that type; dtypes
//   conditions  attributes of the type boolean; given(operand): an optional operand is there
#pragma once

#include <optional>
#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/spec/expression.hpp"

namespace kgen {

// Over all values of the symbolic dims, as far as arithmetic on their ranges can see.
enum class Proof { never, sometimes, always };

// A node whose operator a kernel implements. It must have been inferred.
struct ConditionScope {
  const Graph& graph;
  const Node& node;
  const DimRanges& ranges;
};

// `condition` must have passed check_kernel_conditions.
Proof prove_condition(const Expression& condition, const ConditionScope& scope);
// What the names in the condition stand for: "M is S + 1, 1..512; T is bf16".
std::string condition_facts(const Expression& condition, const ConditionScope& scope);

// The condition of a kernel; nothing where it has none, or one that check_kernel_conditions reports.
std::optional<Expression> condition_of(const KernelSignature& kernel);

// Reports each `when` that is no condition, names what its operator has not, or compares what cannot be compared.
void check_kernel_conditions(const OpSet& set, Diagnostics& diagnostics);

}  // namespace kgen
