// What the graph's `fusion:` says of a join.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "generator/pass/fuse/fuse_groups.hpp"

namespace kgen {

class FuseOrders {
 public:
  // `alone`: numbers of the `force` groups that nothing else joins before they are whole.
  FuseOrders(const FuseFacts& facts, const FuseGroups& groups, const std::vector<std::size_t>& alone);

  // Why `node` and all of the groups `ids` may not become one; empty where nothing is against it.
  std::string against(NodeId node, const std::vector<std::uint32_t>& ids) const;
  // Whether the graph keeps `node` apart from another.
  bool restricts(NodeId node) const { return forbidden_.contains(node); }
  // Whether each of the groups `ids` must be in one stub with `node` or with another of them.
  bool forced(NodeId node, const std::vector<std::uint32_t>& ids) const;
  // The groups, as they stand, that must be in one stub with `node`; each once.
  std::vector<std::uint32_t> forced_with(NodeId node) const;
  // The numbers of the `force` groups whose values several groups make, as they stand.
  std::vector<std::size_t> forced_apart() const;

 private:
  struct ForcedSet {
    std::vector<NodeId> named;  // that make the values of one `force`
    std::vector<NodeId> nodes;  // these, and all that lie between two of them; ascending
    bool alone = false;
  };

  ForcedSet forced_set(std::vector<NodeId> named) const;
  bool against_alone(NodeId node, const std::vector<std::uint32_t>& ids) const;
  bool holds(const ForcedSet& set, std::uint32_t group) const;

  const FuseFacts& facts_;
  const FuseGroups& groups_;
  std::unordered_map<NodeId, std::vector<NodeId>> forbidden_;  // both ways
  std::vector<ForcedSet> forced_;
};

}  // namespace kgen
