#include "generator/pass/fuse_orders.hpp"

#include <algorithm>

namespace kgen {

FuseOrders::FuseOrders(const FuseFacts& facts, const FuseGroups& groups) : facts_(facts), groups_(groups) {
  const Graph& graph = facts.graph();
  if (graph.directives.forbid.empty() && graph.directives.force.empty()) return;
  std::unordered_map<std::string, NodeId> makers;
  for (const Value& value : graph.values) {
    if (value.kind == ValueKind::result) makers[value.name] = value.producer;
  }
  const auto pairs = [&](const std::vector<FusionDirectives::Group>& sets, auto& out) {
    for (const auto& set : sets) {
      for (const std::string& a : set.values) {
        for (const std::string& b : set.values) {
          if (a != b && makers.contains(a) && makers.contains(b)) out[makers[a]].push_back(makers[b]);
        }
      }
    }
  };
  pairs(graph.directives.forbid, forbidden_);
  pairs(graph.directives.force, forced_);
}

std::string FuseOrders::against(NodeId id, const std::vector<std::uint32_t>& ids) const {
  if (forbidden_.empty()) return {};
  const auto in_ids = [&](NodeId node) {
    return std::find(ids.begin(), ids.end(), groups_.group_of(node)) != ids.end();
  };
  std::vector<NodeId> members{id};
  for (const std::uint32_t group : ids) {
    members.insert(members.end(), groups_.group(group).nodes.begin(), groups_.group(group).nodes.end());
  }
  for (const NodeId member : members) {
    const auto found = forbidden_.find(member);
    if (found == forbidden_.end()) continue;
    for (const NodeId other : found->second) {
      const bool together = other == id || (other < id && in_ids(other));
      if (together && (member == id || other == id || groups_.group_of(member) != groups_.group_of(other))) {
        return "the graph forbids it (`fusion: forbid`)";
      }
    }
  }
  return {};
}

bool FuseOrders::forced(NodeId id, const std::vector<std::uint32_t>& ids) const {
  const auto found = forced_.find(id);
  if (found == forced_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](NodeId other) {
    return other < id && !facts_.is_view(other) &&
           std::find(ids.begin(), ids.end(), groups_.group_of(other)) != ids.end();
  });
}

}  // namespace kgen
