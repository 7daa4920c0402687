#include "generator/pass/graph/readers.hpp"

#include <algorithm>

namespace kgen {
namespace {

// Each operand that no earlier operand of the node is.
template <class Each>
void for_each_operand(const Graph& graph, const Each& each) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const std::vector<ValueId>& inputs = graph.nodes[id].inputs;
    for (auto input = inputs.begin(); input != inputs.end(); ++input) {
      if (*input != no_id && std::find(inputs.begin(), input, *input) == input) each(id, *input);
    }
  }
}

}  // namespace

Readers::Readers(const Graph& graph) : first_(graph.values.size() + 1, 0) {
  for_each_operand(graph, [&](NodeId, ValueId value) { ++first_[value + 1]; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  nodes_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for_each_operand(graph, [&](NodeId id, ValueId value) { nodes_[next[value]++] = id; });
}

}  // namespace kgen
