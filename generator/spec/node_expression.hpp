// What the sizes and conditions of specifications and kernels mean at a node: "2 * D + pads[0]", "M <= 16 && T == f32".
//   sizes       whole numbers; names in the operator's shape patterns, and its named sizes; attributes of the types
//               integer and dim; list[0], an item of an attribute of type dims; extent(operand, axis), 0 where there is
//               no such operand or axis; rank(operand); elements(operand), or of a result, the product of its
//               extents; + - * / (rounding down) of sizes; condition ? size : size, and min and max of two sizes, all
//               of which are known where one answer is right for all symbolic dims
//   types       the operator's type variables, each of which stands for the dtypes of all operands of that type; dtypes
//   targets     `target`, what source is planned for, is == or != one of cpu, cuda, hip, and gpu, which is any of these;
//               `architecture`, of which of its devices, one of those that `--arch` takes; and `numerics`, what
//               the graph says of them: fast, match_unfused or tf32
//   conditions  sizes compared (== != < <= > >=), types compared (== !=); attributes of the type boolean;
//               given(operand): an optional operand is there; constant(operand): it is known when the model is
//               loaded; && || !
//   degrees     degree(operand), a size: how what makes the operand depends on a weight of few bits that it reads down
//               its columns: 0 it reads none, 1 a multiple, 2 that and something more, 3 else (streamed_operand.hpp)
//   bits        stored_bits(operand), a size: of an element, in front of a cast that keeps every value (widening.hpp)
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "generator/model/graph.hpp"
#include "generator/spec/expression.hpp"

namespace kgen {

// Over all values of the symbolic dims, as far as arithmetic on their ranges can see.
enum class Proof { never, sometimes, always };

// A node whose operator or kernel holds the expressions. Its operands have types; `attributes` are the node's, or those
// that are known so far. `sizes` finds sizes by name, beside those of the patterns; null: there is none of that name.
// `is_constant`: the value is known when the model is loaded. Conditions need it, and sizes do not.
struct NodeScope {
  const Graph& graph;
  const Node& node;
  const DimRanges& ranges;
  const Attributes& attributes;
  std::function<const Dim*(std::string_view name)> sizes = {};
  std::function<bool(ValueId value)> is_constant = {};
};

// The name of an axis of the first operand, in ResultSpec::extents.
inline constexpr std::string_view axis_name = "i";

// The functions of sizes and conditions, for parse_expression.
std::span<const std::string_view> node_functions();

// The dtype of an operand, of an attribute, or of a type variable; nothing where the name is that of none.
std::optional<DType> dtype_named(const NodeScope& scope, std::string_view name);

// The size that a name stands for; nothing where it stands for none, or not for a known one.
std::optional<Dim> size_named(const NodeScope& scope, std::string_view name);

// The value of a size; nothing where it is not known.
std::optional<Dim> size_at(const NodeScope& scope, const Expression& size);

// Whether a condition holds.
Proof prove(const NodeScope& scope, const Expression& condition);

// Whether the condition holds at no node of the operator that is planned for `target`, and its `architecture` if that
// is known.
bool holds_never(const OpSpec& op, const Expression& condition, TargetKind target,
                 std::optional<Architecture> architecture = std::nullopt);

// Whether the condition holds for no operands of the ranks that the node's have: what has it is not for such operands.
bool ranks_refuse(const NodeScope& scope, const Expression& condition);

// What the names in a condition stand for: "M is S + 1, 1..512; T is bf16".
std::string facts_of(const NodeScope& scope, const Expression& condition);

// Why the expression is no size, or no condition, at whatever node of the operator; nothing where it is one. `sizes`
// are names of sizes beside those of the patterns.
std::optional<std::string> size_problem(const Expression& size, const OpSpec& op,
                                        std::span<const std::string> sizes = {});
std::optional<std::string> condition_problem(const Expression& condition, const OpSpec& op);

}  // namespace kgen
