#include "generator/explain/saved_bytes.hpp"

#include <set>

namespace kgen {

Dim saved_bytes(const Group& group, const std::vector<const Decision*>& decisions, const Graph& graph) {
  std::set<NodeId> counted;
  for (const ValueId output : group.outputs) counted.insert(graph.value(output).producer);
  Dim total;
  for (const Decision* decision : decisions) {
    if (!decision->fused) continue;
    if (decision->siblings || counted.insert(decision->producer).second) total = total + decision->bytes;
  }
  return total;
}

}  // namespace kgen
