// Types of a single node: what `infer` does to every operator of a graph, for passes that insert nodes of their own.
#pragma once

#include <functional>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Types one operator's node. The specification's count of operands and results must be there, and the required
// attributes, of the specification's types; operands have types, except for numbers in the text: scalars of kind
// `constant` without a type, which take the dtype of the other operands (f32 where there are none).
//
// Sets node.kind, completes node.attributes (in the specification's order, defaults filled in), sets the types of the
// results (whose values must exist), and adds to graph.requirements what only the run can check. `ranges` is
// ranges_of(graph). The node may be an element of graph.nodes. False, after an error at node.where, where the dtypes,
// shapes or attributes do not fit; nothing but the types of numbers has changed then.
bool infer_node(Graph& graph, Node& node, const DimRanges& ranges, Diagnostics& diagnostics);

// What helps where sizes do not fit that are known only at run time.
inline constexpr std::string_view same_dims_advice = "if they are always equal, write them with the same dims";

}  // namespace kgen
