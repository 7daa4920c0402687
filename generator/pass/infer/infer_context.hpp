// What the parts of infer_node share: the node at hand, and how its problems are put into words.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {

// "'x' (f32[M, 4096])" or "'epsilon' (f32[] = 1e-05)", for messages. The value must have a type.
std::string describe(const Graph& graph, ValueId id);

// What the names in the shape patterns of an operator stand for, at one node.
struct PatternBindings {
  struct Name {
    std::string_view name;
    Dim extent;
    std::size_t operand = 0;  // which one bound it first
  };
  std::vector<Name> names;
  Shape ellipsis;  // broadcast over all operands that have one

  const Name* find(std::string_view name) const;
};

struct NodeContext {
  Graph& graph;
  Node& node;
  const DimRanges& ranges;
  Diagnostics& diagnostics;
  PatternBindings bindings;

  const OpSpec& op() const { return *node.op; }
  bool has_operand(std::size_t operand) const {
    return operand < node.inputs.size() && node.inputs[operand] != no_id;
  }
  const TensorType& type(std::size_t operand) const { return graph.type(node.inputs[operand]); }
  const Shape& shape(std::size_t operand) const { return type(operand).shape; }
  // The specification of an operand; the last one may be variadic.
  const OperandSpec& spec(std::size_t operand) const {
    return op().operands[std::min(operand, op().operands.size() - 1)];
  }
  const std::string& result_name() const { return graph.value(node.outputs[0]).name; }

  std::string describe(std::size_t operand) const { return kgen::describe(graph, node.inputs[operand]); }
  // "add: ..." at the node.
  Diagnostic& error(const std::string& message) const {
    return diagnostics.error(node.where, op().name + ": " + message);
  }
};

// ---- infer_attributes.cpp -------------------------------------------------------------------------------------------

// Brings the node's attributes into the order of the specification, fills in defaults, and checks the bounds that the
// specification gives them. The patterns must be bound: default expressions refer to their names.
bool complete_attributes(NodeContext& context);

// ---- infer_sizes.cpp ------------------------------------------------------------------------------------------------

// Where sizes are evaluated: the node with those attributes and the names that are bound.
NodeScope scope_of(const NodeContext& context, const Attributes& attributes);

// How many values the node's attributes list, and what each is at least.
bool validate_attributes(NodeContext& context);

// The operator's conditions on its sizes. Complete attributes are needed.
bool validate_conditions(NodeContext& context);

// Binds the sizes that the operator names, for the shapes of its results.
bool bind_sizes(NodeContext& context);

// The shape of a result whose specification gives the size of each axis.
std::optional<Shape> shape_of_extents(NodeContext& context, const ResultSpec& result);

// ---- infer_shapes.cpp -----------------------------------------------------------------------------------------------

// Binds the names in the operands' shape patterns.
bool bind_patterns(NodeContext& context);

// The shape of each result: by its pattern, or the broadcast shape of all operands. Complete attributes are needed.
std::optional<std::vector<Shape>> result_shapes(NodeContext& context);

// NumPy's broadcasting of all operands; the axis along which one is read in lines does not count.
std::optional<Shape> broadcast_operands(const NodeContext& context);

// Sets node.kind to Elementwise, and gives the shape of each result.
std::optional<std::vector<Shape>> resolve_elementwise(NodeContext& context);

// Sets node.kind to a Reduction, and gives the shape that each result has.
std::optional<Shape> resolve_reduction(NodeContext& context);

// 0 <= axis < rank after counting negative ones from the end. `rank` is that of the shape the axis refers to, `operand`
// the one that a message speaks of.
std::optional<int> resolve_axis(const NodeContext& context, std::int64_t axis, std::size_t rank,
                                std::size_t operand = 0);
// The same for an attribute that lists axes: the extents must be constants.
std::optional<std::vector<int>> resolve_axes(const NodeContext& context, std::string_view attribute, std::size_t rank);

// left <= right: true where it always holds; where only the run can tell, a requirement is added, whose meaning is
// "result: meaning"; an error where it never holds.
bool require_at_most(NodeContext& context, const Dim& left, const Dim& right, const std::string& meaning);
// left = right, in the same way.
bool require_equal(NodeContext& context, const Dim& left, const Dim& right, const std::string& meaning);

// ---- infer_views.cpp ------------------------------------------------------------------------------------------------

// Sets node.kind to a IndexMap, and gives the shape of the result.
std::optional<Shape> resolve_view(NodeContext& context);

}  // namespace kgen
