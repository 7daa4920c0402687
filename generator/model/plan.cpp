#include "generator/model/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace kgen {

const Epilogue* epilogue_of(const std::vector<Epilogue>& epilogues, std::size_t result) {
  const auto found = std::find_if(epilogues.begin(), epilogues.end(), [&](const Epilogue& each) {
    return std::find(each.results.begin(), each.results.end(), result) != each.results.end();
  });
  return found == epilogues.end() ? nullptr : &*found;
}

std::optional<std::size_t> result_number(const Graph& graph, const std::vector<NodeId>& roots, ValueId value) {
  const auto root = std::find(roots.begin(), roots.end(), graph.value(value).producer);
  if (root == roots.end()) return std::nullopt;
  return static_cast<std::size_t>(root - roots.begin()) * graph.nodes[*root].outputs.size() + graph.value(value).index;
}

ValueId numbered_result(const Graph& graph, const std::vector<NodeId>& roots, std::size_t number) {
  const std::size_t each = graph.nodes[roots.front()].outputs.size();
  return graph.nodes[roots[number / each]].outputs[number % each];
}

std::vector<NodeId> roots_of(const Group& group) {
  std::vector<NodeId> roots{group.root};
  roots.insert(roots.end(), group.siblings.begin(), group.siblings.end());
  return roots;
}

std::string kernel_text(const StubProgram& stub) {
  if (stub.kernel_parameters.empty()) return stub.kernel;
  return fmt::format("{}<{}>", stub.kernel, fmt::join(stub.kernel_parameters, ", "));
}

std::vector<const Decision*> decision_path(const FusedGraph& fused, NodeId from, NodeId to) {
  std::vector<std::vector<const Decision*>> readers(fused.graph.nodes.size());
  for (const Decision& decision : fused.decisions) {
    if (decision.siblings && decision.producer == from && decision.consumer == to) return {&decision};
    if (decision.producer != no_id && !decision.siblings) readers[decision.producer].push_back(&decision);
  }
  std::vector<const Decision*> reached(fused.graph.nodes.size(), nullptr);
  std::deque<NodeId> open = {from};
  while (!open.empty() && !reached[to]) {
    const NodeId node = open.front();
    open.pop_front();
    for (const Decision* decision : readers[node]) {
      if (decision->consumer == from || reached[decision->consumer]) continue;
      reached[decision->consumer] = decision;
      open.push_back(decision->consumer);
    }
  }
  std::vector<const Decision*> path;
  for (NodeId at = to; at != from && reached[at]; at = reached[at]->producer) path.push_back(reached[at]);
  std::reverse(path.begin(), path.end());
  return path;
}

Dim arena_bytes(const FunctionPlan& plan) {
  const std::int64_t alignment = description_of(plan.fused.graph).slot_alignment;
  Dim total;
  for (const Slot& slot : plan.slots) {
    total = total + Dim(alignment) * Dim::floor_divide(slot.bytes + Dim(alignment - 1), alignment);
  }
  return total;
}

}  // namespace kgen
