#include "generator/pass/fuse/fuse_orders.hpp"

#include <algorithm>

namespace kgen {

FuseOrders::FuseOrders(const FuseFacts& facts, const FuseGroups& groups, const std::vector<std::size_t>& alone)
    : facts_(facts), groups_(groups) {
  const Graph& graph = facts.graph();
  if (graph.directives.forbid.empty() && graph.directives.force.empty()) return;
  std::unordered_map<std::string, NodeId> makers;
  for (const Value& value : graph.values) {
    if (value.kind == ValueKind::result) makers[value.name] = value.producer;
  }
  for (const auto& set : graph.directives.forbid) {
    for (const std::string& a : set.values) {
      for (const std::string& b : set.values) {
        if (a != b && makers.contains(a) && makers.contains(b)) forbidden_[makers[a]].push_back(makers[b]);
      }
    }
  }
  for (const auto& set : graph.directives.force) {
    std::vector<NodeId> named;
    for (const std::string& value : set.values) {
      if (const auto maker = makers.find(value); maker != makers.end()) named.push_back(maker->second);
    }
    forced_.push_back(forced_set(std::move(named)));
  }
  for (const std::size_t number : alone) forced_[number].alone = true;
}

FuseOrders::ForcedSet FuseOrders::forced_set(std::vector<NodeId> named) const {
  const Graph& graph = facts_.graph();
  std::vector<bool> needs_one(graph.nodes.size(), false);
  for (const NodeId id : named) needs_one[id] = true;
  std::vector<bool> feeds_one = needs_one;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const ValueId input : graph.nodes[id].inputs) {
      if (input == no_id || graph.value(input).kind != ValueKind::result) continue;
      if (needs_one[graph.value(input).producer]) needs_one[id] = true;
    }
  }
  ForcedSet set{.named = std::move(named), .nodes = {}};
  for (auto id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    for (const ValueId output : graph.nodes[id].outputs) {
      for (const NodeId reader : facts_.consumers(output)) {
        if (feeds_one[reader]) feeds_one[id] = true;
      }
    }
    if (needs_one[id] && feeds_one[id]) set.nodes.push_back(id);
  }
  std::reverse(set.nodes.begin(), set.nodes.end());
  return set;
}

std::string FuseOrders::against(NodeId id, const std::vector<std::uint32_t>& ids) const {
  if (against_alone(id, ids)) return "the graph forces one of them into another stub (`fusion: force`)";
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

bool FuseOrders::against_alone(NodeId id, const std::vector<std::uint32_t>& ids) const {
  return std::any_of(forced_.begin(), forced_.end(), [&](const ForcedSet& set) {
    if (!set.alone || set.nodes.empty() || id >= set.nodes.back()) return false;
    const bool member = std::binary_search(set.nodes.begin(), set.nodes.end(), id);
    return std::any_of(ids.begin(), ids.end(), [&](std::uint32_t group) { return holds(set, group) != member; });
  });
}

bool FuseOrders::holds(const ForcedSet& set, std::uint32_t group) const {
  return std::any_of(set.nodes.begin(), set.nodes.end(), [&](NodeId node) { return groups_.group_of(node) == group; });
}

bool FuseOrders::forced(NodeId id, const std::vector<std::uint32_t>& ids) const {
  if (forced_.empty()) return false;
  return std::all_of(ids.begin(), ids.end(), [&](std::uint32_t group) {
    return std::any_of(forced_.begin(), forced_.end(), [&](const ForcedSet& set) {
      if (!holds(set, group)) return false;
      return std::binary_search(set.nodes.begin(), set.nodes.end(), id) ||
             std::any_of(ids.begin(), ids.end(), [&](auto other) { return other != group && holds(set, other); });
    });
  });
}

std::vector<std::uint32_t> FuseOrders::forced_with(NodeId id) const {
  std::vector<std::uint32_t> ids;
  for (const ForcedSet& set : forced_) {
    if (!std::binary_search(set.nodes.begin(), set.nodes.end(), id)) continue;
    for (const NodeId node : set.nodes) {
      const std::uint32_t group = groups_.group_of(node);
      if (group != no_id && std::find(ids.begin(), ids.end(), group) == ids.end()) ids.push_back(group);
    }
  }
  return ids;
}

std::vector<std::size_t> FuseOrders::forced_apart() const {
  std::vector<std::size_t> apart;
  for (std::size_t number = 0; number < forced_.size(); ++number) {
    std::uint32_t first = no_id;
    for (const NodeId node : forced_[number].named) {
      const std::uint32_t group = groups_.group_of(node);
      if (first == no_id) first = group;
      if (group == no_id || group == first) continue;  // no group makes a view
      apart.push_back(number);
      break;
    }
  }
  return apart;
}

}  // namespace kgen
