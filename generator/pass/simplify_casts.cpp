#include "generator/pass/simplify_casts.hpp"

#include "generator/pass/scalar_value.hpp"

namespace kgen {
namespace {

bool is_cast(const Node* node) {
  return node && node->op && node->op->role == OpRole::cast && node->inputs.size() == 1;
}

}  // namespace

bool simplify_casts(Rewriting& rewriting, NodeId id) {
  Graph& graph = rewriting.graph;
  Node& node = graph.nodes[id];
  if (!is_cast(&node)) return false;
  if (replace_result(rewriting, id, node.inputs[0])) return true;

  const Node* inner = producer(rewriting, node.inputs[0]);
  if (!is_cast(inner)) return false;
  const DType from = graph.type(inner->inputs[0]).dtype;
  const DType between = graph.type(node.inputs[0]).dtype;
  const DType to = graph.type(node.outputs[0]).dtype;
  if (!holds_every_value(between, from)) return false;
  const bool through_float = info(between).floating && !info(from).floating && !info(to).floating;
  if (through_float && to != DType::boolean && !holds_every_value(to, from)) return false;
  node.inputs[0] = inner->inputs[0];
  return true;
}

}  // namespace kgen
