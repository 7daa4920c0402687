#include "generator/pass/fuse/fuse_groups.hpp"

#include <algorithm>

#include "generator/base/contains.hpp"
#include "generator/base/ensure.hpp"
#include "generator/pass/graph/update_order.hpp"

namespace kgen {
FuseGroups::FuseGroups(const FuseFacts& facts)
    : facts_(facts),
      group_of_(facts.graph().nodes.size(), no_id),
      view_depth_(facts.graph().values.size(), 0),
      last_reader_(facts.graph().values.size(), no_id) {
  // A group of its own for each node is the most; memory that is never touched costs nothing, moving groups does.
  groups_.reserve(facts.graph().nodes.size());
}

std::uint32_t FuseGroups::find(std::uint32_t id) const {
  if (id == no_id) return no_id;
  while (parent_[id] != id) {
    parent_[id] = parent_[parent_[id]];
    id = parent_[id];
  }
  return id;
}

std::uint32_t FuseGroups::group_making(ValueId value) const {
  const Value& v = facts_.graph().value(value);
  if (v.kind != ValueKind::result || facts_.is_view(v.producer)) return no_id;
  return find(group_of_[v.producer]);
}

std::uint32_t FuseGroups::group_behind(ValueId value) const {
  const std::uint32_t maker = group_making(facts_.peel(value));
  if (maker != no_id) return maker;
  const std::uint32_t behind = group_making(facts_.unshaped(value));
  return behind != no_id && groups_[behind].kind == GroupKind::structured ? behind : no_id;
}

bool FuseGroups::reads_within(NodeId node, ValueId value, const std::vector<std::uint32_t>& ids) const {
  if (contains(ids, group_making(facts_.peel(value)))) return true;
  const bool kernel =
      std::holds_alternative<Structured>(facts_.graph().nodes[node].kind) ||
      std::any_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return groups_[id].kind == GroupKind::structured; });
  return kernel && contains(ids, group_making(facts_.unshaped(value)));
}

std::uint32_t FuseGroups::depth_of(ValueId value) const {
  const ValueId shown = facts_.unshaped(value);
  const std::uint32_t maker = group_making(shown);
  return maker == no_id ? view_depth_[shown] : groups_[maker].depth;
}

std::vector<ValueId> FuseGroups::versions_needed(NodeId node, const std::vector<std::uint32_t>& ids) const {
  const Graph& graph = facts_.graph();
  std::vector<ValueId> versions;
  for (const NodeId update : facts_.updates_written_by(node)) {
    const auto is_beside = [&](NodeId writer) { return writer == node || contains(ids, group_of(writer)); };
    const ValueId version = version_needed(graph, graph.nodes[update], facts_.ranges(), is_beside);
    if (version != no_id) versions.push_back(version);
  }
  return versions;
}

std::uint32_t FuseGroups::depth_after(NodeId node, const std::vector<std::uint32_t>& ids) const {
  std::uint32_t depth = 1;
  for (const std::uint32_t id : ids) depth = std::max(depth, groups_[id].depth);
  for (const ValueId input : facts_.graph().nodes[node].inputs) {
    if (input == no_id) continue;
    if (reads_within(node, input, ids)) continue;
    depth = std::max(depth, depth_of(input) + 1);
  }
  for (const ValueId version : versions_needed(node, ids)) depth = std::max(depth, depth_of(version) + 1);
  return depth;
}

std::vector<std::uint32_t> FuseGroups::moved_behind_readers(NodeId node, const std::vector<std::uint32_t>& ids) const {
  const std::uint32_t depth = depth_after(node, ids);
  const std::vector<ValueId>& inputs = facts_.graph().nodes[node].inputs;
  const auto from_memory = [&](std::uint32_t id) {
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return input != no_id && group_making(facts_.unshaped(input)) == id && !reads_within(node, input, ids);
    });
  };
  std::vector<std::uint32_t> moved;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(moved), [&](std::uint32_t id) {
    return (groups_[id].depth != depth && groups_[id].read_by_others) || from_memory(id);
  });
  return moved;
}

bool FuseGroups::needs_outside(NodeId node, const std::vector<std::uint32_t>& ids) const {
  const Graph& graph = facts_.graph();
  std::vector<bool> seen(node, false), walked(groups_.size(), false);
  std::vector<NodeId> open;
  const auto add = [&](ValueId value) {
    const NodeId maker = value == no_id ? no_id : graph.value(value).producer;
    if (maker == no_id || seen[maker]) return;
    seen[maker] = true;
    open.push_back(maker);
  };
  const auto add_versions = [&](NodeId id, const std::vector<std::uint32_t>& beside) {
    for (const ValueId version : versions_needed(id, beside)) add(version);
  };
  const auto add_needs = [&](NodeId id) {
    for (const ValueId input : graph.nodes[id].inputs) add(input);
    add_versions(id, {group_of(id)});
  };
  for (const ValueId input : graph.nodes[node].inputs) {
    if (input != no_id && !reads_within(node, input, ids)) add(input);
  }
  for (const std::uint32_t id : ids) {
    for (const ValueId read : groups_[id].reads) {
      if (!contains(ids, group_making(facts_.unshaped(read)))) add(read);
    }
    for (const NodeId member : groups_[id].nodes) add_versions(member, ids);
  }
  add_versions(node, ids);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const std::uint32_t group = group_of(id);
    if (group == no_id) {  // a view
      add_needs(id);
    } else if (contains(ids, group)) {
      return true;
    } else if (!walked[group]) {  // what one of its nodes needs, all wait for
      walked[group] = true;
      for (const NodeId member : groups_[group].nodes) add_needs(member);
    }
  }
  return false;
}

bool FuseGroups::within_limits(NodeId node, const std::vector<std::uint32_t>& ids) const {
  std::size_t nodes = 1;
  std::size_t reads = facts_.graph().nodes[node].inputs.size();
  std::size_t calls = 1;  // siblings may be as large as they would be apart
  for (const std::uint32_t id : ids) {
    nodes += groups_[id].nodes.size();
    reads += groups_[id].reads.size();
    calls = std::max(calls, groups_[id].roots.size());
  }
  const TargetDescription& target = description_of(facts_.graph());
  return nodes <= calls * target.most_nodes && reads <= calls * target.most_reads;
}

void FuseGroups::add_read(GrowingGroup& group, ValueId value) const {
  if (std::find(group.reads.begin(), group.reads.end(), value) == group.reads.end()) group.reads.push_back(value);
}

void FuseGroups::add_node(NodeId node, std::uint32_t id) {
  group_of_[node] = id;
  groups_[id].nodes.push_back(node);
  const Node& n = facts_.graph().nodes[node];
  for (const ValueId input : n.inputs) {
    if (input == no_id) continue;
    if (group_behind(input) == id) continue;
    const std::uint32_t maker = group_making(facts_.unshaped(input));
    if (!is_literal(facts_.graph(), n, input)) add_read(groups_[id], input);
    last_reader_[input] = id;
    if (maker != no_id) groups_[maker].read_by_others = true;
  }
}

void FuseGroups::move_nodes(std::uint32_t from, std::uint32_t to) {
  GrowingGroup& target = groups_[to];
  parent_[from] = to;
  target.nodes.insert(target.nodes.end(), groups_[from].nodes.begin(), groups_[from].nodes.end());
  for (const ValueId value : groups_[from].reads) add_read(target, value);
  target.read_by_others |= groups_[from].read_by_others;
  groups_[from] = {};
}

std::uint32_t FuseGroups::start(NodeId node, GrowingGroup group) {
  group.depth = depth_after(node, {});
  const auto id = static_cast<std::uint32_t>(groups_.size());
  groups_.push_back(std::move(group));
  parent_.push_back(id);
  add_node(node, id);
  return id;
}

void FuseGroups::join(NodeId node, const std::vector<std::uint32_t>& ids, GrowingGroup shape) {
  ensure(!ids.empty(), "a node joins at least one group");
  const std::uint32_t depth = depth_after(node, ids);
  // The largest keeps its number, so that merging stays near linear.
  const std::uint32_t keep = *std::max_element(ids.begin(), ids.end(), [&](std::uint32_t a, std::uint32_t b) {
    return groups_[a].nodes.size() < groups_[b].nodes.size();
  });
  for (const std::uint32_t id : ids) {
    if (id != keep) move_nodes(id, keep);
  }
  GrowingGroup& target = groups_[keep];
  target.kind = shape.kind;
  target.roots = std::move(shape.roots);
  target.prologues = std::move(shape.prologues);
  target.epilogues = std::move(shape.epilogues);
  target.loop = std::move(shape.loop);
  target.row_axes = std::move(shape.row_axes);
  target.at_load = shape.at_load;
  target.depth = depth;
  add_node(node, keep);
}

void FuseGroups::take_in(std::uint32_t host, std::uint32_t guest) {
  const bool read_by_others = groups_[host].read_by_others;
  std::erase_if(groups_[host].reads, [&](ValueId read) { return group_making(facts_.peel(read)) == guest; });
  move_nodes(guest, host);
  groups_[host].read_by_others = read_by_others;
}

void FuseGroups::absorb(std::uint32_t host, std::uint32_t guest, Prologue prologue) {
  take_in(host, guest);
  groups_[host].prologues.push_back(std::move(prologue));
}

void FuseGroups::absorb(std::uint32_t host, std::uint32_t guest, RowState row_state) {
  take_in(host, guest);
  groups_[host].row_state = std::move(row_state);
}

void FuseGroups::absorb(std::uint32_t host, std::uint32_t guest, RowStatistics statistics) {
  move_nodes(guest, host);
  groups_[host].statistics = std::move(statistics);
  std::erase_if(groups_[host].reads, [&](ValueId read) { return group_making(facts_.peel(read)) == host; });
}

void FuseGroups::pass_view(NodeId node) {
  const Node& n = facts_.graph().nodes[node];
  // What others read through it, they read of the group that makes it.
  if (facts_.unshaped(n.outputs[0]) != n.outputs[0]) return;
  std::uint32_t depth = 0;
  for (const ValueId input : n.inputs) {
    if (input == no_id) continue;
    depth = std::max(depth, depth_of(input));
    const std::uint32_t maker = group_making(facts_.unshaped(input));
    if (maker != no_id) groups_[maker].read_by_others = true;
  }
  for (const ValueId output : n.outputs) view_depth_[output] = depth;
}

std::uint32_t FuseGroups::last_reader(ValueId value) const { return find(last_reader_[value]); }

}  // namespace kgen
