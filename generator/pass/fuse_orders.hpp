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
  // Whether some group of `ids` holds a node that must be in one stub with `node`.
  bool forced(NodeId node, const std::vector<std::uint32_t>& ids) const;

 private:
  const FuseFacts& facts_;
  const FuseGroups& groups_;
  std::unordered_map<NodeId, std::vector<NodeId>> forbidden_;  // both ways
  std::unordered_map<NodeId, std::vector<NodeId>> forced_;     // both ways
};

}  // namespace kgen
