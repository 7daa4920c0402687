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

  // To be told of every node once it is in its group, which it joined with all of the groups `ids`.
  void joined(NodeId node, const std::vector<std::uint32_t>& ids);

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
  using Numbers = std::vector<std::size_t>;  // of forced_
  struct ForcedSet {
    std::vector<NodeId> named;  // that make the values of one `force`
    NodeId last = 0;            // of these, and of all that lie between two of them
    bool alone = false;
    std::vector<std::uint32_t> groups;  // that hold such nodes
  };

  void add_forced(std::vector<NodeId> named);
  // The `force` groups that the node, or a node of the group, belongs to.
  const Numbers& sets_of(NodeId node) const;
  const Numbers& sets_in(std::uint32_t group) const;
  bool against_alone(NodeId node, const std::vector<std::uint32_t>& ids) const;

  const FuseFacts& facts_;
  const FuseGroups& groups_;
  std::unordered_map<NodeId, std::vector<NodeId>> forbidden_;  // both ways
  std::vector<ForcedSet> forced_;
  std::unordered_map<NodeId, Numbers> sets_of_;
  std::unordered_map<std::uint32_t, Numbers> sets_in_;  // by group
};

}  // namespace kgen
