// Who reads a value that could be computed again, and whether they could compute it for themselves.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/recompute_price.hpp"

namespace kgen {

// One loop of a group: what its nodes read of the value. A kernel's group has one for each prologue and each epilogue.
struct ReaderPort {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::uint32_t group = 0;
  std::size_t prologue = none;                        // on which operand of the root
  NodeId root = no_id;                                // prologue: Prologue::reader
  std::size_t epilogue = none;                        // which of Group::epilogues
  std::vector<std::pair<NodeId, std::size_t>> reads;  // node and operand
};

// Of the groups other than the one that makes `value`, in the order of their first reads. None where one of its readers
// is a view or a call. `group_of`: by node of the graph that `facts` are of.
std::vector<ReaderPort> reader_ports(const FuseFacts& facts, const std::vector<Group>& groups,
                                     const std::vector<std::uint32_t>& group_of, ValueId value);

// Whether `group` could compute the nodes where `port` of it reads the value that they make. Its nodes are those of the
// graph that `facts` are of, and what has been computed again stands there as what it is.
bool can_take(const FuseFacts& facts, const Group& group, const ReaderPort& port, const RecomputedValue& again);

// What the graph's `fusion:` says of nodes that go elsewhere.
class RecomputeOrders {
 public:
  explicit RecomputeOrders(const FusionDirectives& directives);
  // Whether what makes one of the nodes' results and one of the group's is to be kept apart.
  bool forbids(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<NodeId>& group) const;
  // Whether one of the nodes' results is to stay with others.
  bool forces_any(const Graph& graph, const std::vector<NodeId>& nodes) const;

 private:
  using Sets = std::unordered_map<std::string_view, std::vector<std::size_t>>;  // by value: the directives that name it
  static Sets sets_of(const std::vector<FusionDirectives::Group>& groups);
  Sets forbid_, force_;
};

}  // namespace kgen
