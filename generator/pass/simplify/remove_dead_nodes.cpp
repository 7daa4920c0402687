#include "generator/pass/simplify/remove_dead_nodes.hpp"

#include <algorithm>

namespace kgen {

void remove_dead_nodes(Rewriting& rewriting) {
  Graph& graph = rewriting.graph;
  std::vector<bool> alive(graph.values.size(), false);
  for (ValueId id = 0; id < graph.values.size(); ++id) alive[id] = rewriting.observed[id];
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (rewriting.removed[i]) continue;
    ++rewriting.node_visits;
    const Node& node = graph.nodes[i];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return alive[output]; })) {
      rewriting.removed[i] = true;
      continue;
    }
    for (const ValueId input : node.inputs) {
      if (input != no_id) alive[input] = true;
    }
  }
  drop_nodes(graph, rewriting.removed);
  rewriting.removed.assign(graph.nodes.size(), false);
}

}  // namespace kgen
