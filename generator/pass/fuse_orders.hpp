// What the graph's `fusion:` says of a join.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "generator/pass/fuse_groups.hpp"

namespace kgen {

class FuseOrders {
 public:
  FuseOrders(const FuseFacts& facts, const FuseGroups& groups);

  // Why `node` and all of the groups `ids` may not become one; empty where nothing is against it.
  std::string against(NodeId node, const std::vector<std::uint32_t>& ids) const;
  // Whether each of the groups `ids` must be in one stub with `node` or with another of them.
  bool forced(NodeId node, const std::vector<std::uint32_t>& ids) const;
  // The groups, as they stand, that must be in one stub with `node`; each once.
  std::vector<std::uint32_t> forced_with(NodeId node) const;

 private:
  // Nodes that must be in one stub: those that make the values of one `force`, and all that lie between two of them.
  using ForcedSet = std::vector<NodeId>;  // ascending

  void add_forced(const std::vector<bool>& named);
  bool holds(const ForcedSet& set, std::uint32_t group) const;

  const FuseFacts& facts_;
  const FuseGroups& groups_;
  std::unordered_map<NodeId, std::vector<NodeId>> forbidden_;  // both ways
  std::vector<ForcedSet> forced_;
};

}  // namespace kgen
