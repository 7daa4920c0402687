// Groups while fusion grows them: union-find over groups, depths, and the rule each join must keep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

struct GrowingGroup {
  GroupKind kind = GroupKind::elementwise;
  std::vector<NodeId> roots;  // structured: that one call of the kernel computes, the first and its siblings; call: one
  Shape loop;
  std::vector<int> row_axes;
  bool at_load = false;
  std::vector<Prologue> prologues;  // structured: every node but the roots rides in one of these
  std::vector<Epilogue> epilogues;  // or in one of these, of each result at most one
  RowState row_state;               // or make numbers of rows for those
  RowStatistics statistics;         // or make numbers of the rows that it stores
  std::vector<NodeId> nodes;
  std::vector<ValueId> reads;   // memory that its nodes read; each once
  std::uint32_t depth = 1;      // the longest chain of groups that ends here
  bool read_by_others = false;  // some node outside reads a result: the depth may not change any more
};

class FuseGroups {
 public:
  explicit FuseGroups(const FuseFacts& facts);

  // The group of the node that makes `value`, or no_id where memory or a view does.
  std::uint32_t group_making(ValueId value) const;
  // The group in which `value` may be read in registers: past views that only add or drop axes of extent 1, and where a
  // kernel's group makes it, past all that keep the elements in row-major order.
  std::uint32_t group_behind(ValueId value) const;
  // Whether `node`, once it has joined the groups `ids`, reads `value` in registers.
  bool reads_within(NodeId node, ValueId value, const std::vector<std::uint32_t>& ids) const;
  std::uint32_t group_of(NodeId node) const { return find(group_of_[node]); }
  const GrowingGroup& group(std::uint32_t id) const { return groups_[id]; }
  std::size_t size() const { return groups_.size(); }
  bool alive(std::uint32_t id) const { return parent_[id] == id; }

  // How deep the groups go that `value` depends on; 0 for inputs, constants and states.
  std::uint32_t depth_of(ValueId value) const;

  // Whether `node` may join all of `ids` (which become one group) without a cycle.
  bool stays_acyclic(NodeId node, const std::vector<std::uint32_t>& ids) const {
    return moved_behind_readers(node, ids).empty();
  }
  // Those of `ids` that would make a cycle: others read them, and the join would move them; or `node` reads them from
  // memory. Without these, the rest may be joined.
  std::vector<std::uint32_t> moved_behind_readers(NodeId node, const std::vector<std::uint32_t>& ids) const;
  // Whether something that `node` or the groups `ids` need of other groups needs one of `ids` in its turn. Walks all
  // that they need.
  bool needs_outside(NodeId node, const std::vector<std::uint32_t>& ids) const;
  // How many values in memory the group would read and how many nodes it would hold.
  bool within_limits(NodeId node, const std::vector<std::uint32_t>& ids) const;

  std::uint32_t start(NodeId node, GrowingGroup group);
  void join(NodeId node, const std::vector<std::uint32_t>& ids, GrowingGroup shape);
  // `guest`, which nothing but `host` reads, becomes a part of it. What is ready before a group is so where it ends,
  // too: the host stays as deep as it is.
  void absorb(std::uint32_t host, std::uint32_t guest, Prologue prologue);
  void absorb(std::uint32_t host, std::uint32_t guest, RowState row_state);
  // `guest`, which reads nothing but what `host` stores, becomes a part of it. What reads the guest is deeper than
  // both.
  void absorb(std::uint32_t host, std::uint32_t guest, RowStatistics statistics);
  // To be called for each view node, in order: its result is as deep as what it shows.
  void pass_view(NodeId node);
  // The number of a sibling: a live group that reads `value` and was last to do so; or no_id.
  std::uint32_t last_reader(ValueId value) const;

 private:
  std::uint32_t find(std::uint32_t id) const;
  // The versions of states that must be whole before `node`, once it has joined the groups `ids`, writes over them.
  std::vector<ValueId> versions_needed(NodeId node, const std::vector<std::uint32_t>& ids) const;
  std::uint32_t depth_after(NodeId node, const std::vector<std::uint32_t>& ids) const;
  void add_node(NodeId node, std::uint32_t id);
  void add_read(GrowingGroup& group, ValueId value) const;
  void move_nodes(std::uint32_t from, std::uint32_t to);
  void take_in(std::uint32_t host, std::uint32_t guest);

  const FuseFacts& facts_;
  std::vector<GrowingGroup> groups_;
  mutable std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> group_of_;     // by node
  std::vector<std::uint32_t> view_depth_;   // by value, views only
  std::vector<std::uint32_t> last_reader_;  // by value
};

}  // namespace kgen
