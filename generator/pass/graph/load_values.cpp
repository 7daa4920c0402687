#include "generator/pass/graph/load_values.hpp"

#include <algorithm>

namespace kgen {
namespace {

// A buffer that is kept from load has a size and a dtype.
bool can_keep(const TensorType& type) {
  return !type.structure &&
         std::all_of(type.shape.begin(), type.shape.end(), [](const Dim& extent) { return extent.is_constant(); });
}

}  // namespace

LoadValues::LoadValues(const Graph& graph) : graph_(graph), computed_(graph.values.size(), false) {
  for (const Node& node : graph.nodes) add(node);
}

void LoadValues::add(const Node& node) {
  if (computed_.size() < graph_.values.size()) computed_.resize(graph_.values.size(), false);
  const bool computed =
      !std::holds_alternative<Call>(node.kind) &&
      std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return id == no_id || contains(id); }) &&
      std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return can_keep(graph_.type(id)); });
  for (const ValueId output : node.outputs) computed_[output] = computed;
}

}  // namespace kgen
