#include "generator/pass/graph/update_order.hpp"

#include <algorithm>

#include "generator/pass/graph/layout.hpp"

namespace kgen {

bool is_update(const Node& node) {
  const auto* view = std::get_if<IndexMap>(&node.kind);
  return view && view->form == ViewRule::Form::update;
}

const Node* update_making(const Graph& graph, ValueId version) {
  const NodeId maker = graph.value(version).producer;
  return maker != no_id && is_update(graph.nodes[maker]) ? &graph.nodes[maker] : nullptr;
}

std::vector<ValueId> parts_of(const Graph& graph, ValueId value) {
  std::vector<ValueId> values = {value};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const NodeId maker = graph.value(values[i]).producer;
    if (maker == no_id || !std::holds_alternative<IndexMap>(graph.nodes[maker].kind)) continue;
    const std::vector<ValueId>& inputs = graph.nodes[maker].inputs;
    const auto first = static_cast<std::ptrdiff_t>(first_part(graph.nodes[maker]));
    values.insert(values.end(), inputs.begin() + first, inputs.end());
  }
  return values;
}

std::vector<NodeId> writers_of(const Graph& graph, ValueId value) {
  std::vector<NodeId> writers;
  for (const ValueId part : parts_of(graph, value)) {
    const NodeId maker = graph.value(part).producer;
    if (maker != no_id && !std::holds_alternative<IndexMap>(graph.nodes[maker].kind)) writers.push_back(maker);
  }
  std::sort(writers.begin(), writers.end());
  writers.erase(std::unique(writers.begin(), writers.end()), writers.end());
  return writers;
}

bool provably_apart(const Graph& graph, const Node& earlier, const Node& later, const DimRanges& ranges) {
  const auto& one = std::get<IndexMap>(earlier.kind);
  const auto& other = std::get<IndexMap>(later.kind);
  if (one.axis != other.axis) return false;
  const auto end = [&](const Node& update, const IndexMap& view) {
    return view.begin + graph.type(update.inputs[1]).shape[static_cast<std::size_t>(view.axis)];
  };
  return provably_at_most(end(earlier, one), other.begin, ranges) ||
         provably_at_most(end(later, other), one.begin, ranges);
}

}  // namespace kgen
