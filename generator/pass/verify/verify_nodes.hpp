// What must hold of one node, asked of its operator, its kernel and the types around it. Part of verify_graph.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

struct GraphFacts;

class NodeVerifier {
 public:
  // Nodes may call the first `callable` of the functions.
  NodeVerifier(const Graph& graph, const std::vector<Graph>& functions, std::size_t callable, const GraphFacts& facts)
      : graph_(graph), functions_(functions), callable_(callable), facts_(facts), ranges_(ranges_of(graph)) {}

  // What is wrong with a node of the graph: "has more operands than its operator takes"; empty: nothing. Its operands
  // and results exist, and have types once the graph is inferred.
  std::string_view problem_of(const Node& node);

 private:
  const TensorType& type(ValueId value) const { return graph_.type(value); }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }

  std::string_view call_problem(const Node& node, const Call& call) const;
  std::string_view count_problem(const Node& node) const;
  std::string_view kernel_problem(const Node& node) const;
  std::string_view attribute_problem(const Node& node) const;
  std::string_view dtype_problem(const Node& node);
  bool bind(const OpSpec& op, const std::string& variable, const StructType* structure, ValueId value, bool is_operand);
  std::string_view pattern_problem(const Node& node);
  bool fits_pattern(const std::vector<PatternAxis>& pattern, const Shape& shape, bool binds);
  bool fits_axis(const PatternAxis& axis, const Dim& extent, bool binds);
  std::string_view shape_problem(const Node& node) const;
  const Dim* broadcast_extent(const Node& node, std::size_t from_end) const;
  std::size_t broadcast_rank(const Node& node) const;
  std::string_view broadcast_problem(const Node& node) const;
  std::string_view reduction_problem(const Node& node, const Reduction& reduction) const;

  const Graph& graph_;
  const std::vector<Graph>& functions_;
  std::size_t callable_;
  const GraphFacts& facts_;
  DimRanges ranges_;
  std::vector<std::pair<std::string_view, DType>> dtypes_;        // of the node at hand: by type variable
  std::vector<std::pair<std::string_view, const Dim*>> extents_;  // and by name in its patterns
};

// Whether the operands of such a node are written into its result, from `first_written` on, instead of being read.
bool writes_operands(const IndexMap& view);
std::size_t first_written(const IndexMap& view);

// What is wrong with a node of that view: its parameters, and the shapes of its operands and its result.
std::string_view view_problem(const Graph& graph, const Node& node, const IndexMap& view, const DimRanges& ranges);

}  // namespace kgen
