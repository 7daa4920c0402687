// Siblings: nodes of one kernel that differ in one operand alone, of which the kernel takes several at once. One call
// then computes them, and reads what they share once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"
#include "generator/pass/fuse/fuse_join.hpp"
#include "generator/pass/fuse/fuse_orders.hpp"

namespace kgen {

// Whether the kernel of `a` may be called once for both: they have its attributes and operands in common, but for the
// one of which it takes several.
bool are_siblings(const Graph& graph, NodeId a, NodeId b);

// What siblings read in common: at least one value.
std::vector<ValueId> shared_operands(const Graph& graph, NodeId sibling);

// Finds siblings in constant time.
class SiblingTable {
 public:
  explicit SiblingTable(const Graph& graph) : graph_(graph) {}

  // The last sibling of `node` that was noted; no_id: none was.
  NodeId last(NodeId node) const;
  void note(NodeId node);

 private:
  std::size_t key_of(NodeId node) const;

  const Graph& graph_;
  std::unordered_map<std::size_t, NodeId> last_;
};

// The group of a sibling of `node`, with `node` as one more root and the prologues that it has alone.
Joint with_kernel_sibling(const FuseFacts& facts, const FuseGroups& groups, const FuseOrders& orders, NodeId node,
                          std::uint32_t sibling, const std::vector<Prologue>& prologues);

// The roots of a group in an order in which those whose results one epilogue takes are neighbours.
std::vector<NodeId> call_order(const Graph& graph, const GrowingGroup& group);

}  // namespace kgen
