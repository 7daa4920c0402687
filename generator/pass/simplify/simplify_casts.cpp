#include "generator/pass/simplify/simplify_casts.hpp"

#include "generator/spec/scalar_value.hpp"
#include "generator/spec/widening.hpp"

namespace kgen {

bool simplify_casts(Rewriting& rewriting, NodeId id) {
  Graph& graph = rewriting.graph;
  Node& node = graph.nodes[id];
  if (!node.op || node.op->role != OpRole::cast) return false;
  if (replace_result(rewriting, id, node.inputs[0])) return true;

  const ValueId source = before_widening(graph, node.inputs[0]);
  if (source == node.inputs[0] || !producer(rewriting, node.inputs[0])) return false;
  const DType from = graph.type(source).dtype;
  const DType between = graph.type(node.inputs[0]).dtype;
  const DType to = graph.type(node.outputs[0]).dtype;
  const bool through_float = info(between).floating && !info(from).floating && !info(to).floating;
  if (through_float && to != DType::boolean && !holds_every_value(to, from)) return false;
  node.inputs[0] = source;
  return true;
}

}  // namespace kgen
