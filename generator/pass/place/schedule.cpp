#include "generator/pass/place/schedule.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "generator/pass/place/group_order.hpp"

namespace kgen {
namespace {

// Among the groups that may run next, the one whose first node is the first of the file.
std::vector<std::uint32_t> find_order(const FusedGraph& fused) {
  const GroupOrder order_graph = order_groups(fused);
  std::vector<std::uint32_t> waiting = order_graph.predecessor_counts();
  std::vector<NodeId> first_node(order_graph.groups, no_id);
  for (std::uint32_t group = 0; group < order_graph.groups; ++group) {
    for (const NodeId node : fused.groups[group].nodes) first_node[group] = std::min(first_node[group], node);
  }
  using Entry = std::pair<NodeId, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<GroupOrder::Vertex> open;
  const auto release = [&](GroupOrder::Vertex vertex) {
    if (vertex < order_graph.groups) {
      ready.emplace(first_node[vertex], vertex);
    } else {
      open.push_back(vertex);
    }
  };
  for (GroupOrder::Vertex vertex = 0; vertex < waiting.size(); ++vertex) {
    if (waiting[vertex] == 0) release(vertex);
  }
  std::vector<std::uint32_t> order;
  while (!open.empty() || !ready.empty()) {
    GroupOrder::Vertex done;
    if (!open.empty()) {
      done = open.back();
      open.pop_back();
    } else {
      done = ready.top().second;
      ready.pop();
      order.push_back(done);
    }
    for (const GroupOrder::Vertex next : order_graph.successors[done]) {
      if (--waiting[next] == 0) release(next);
    }
  }
  return order;
}

}  // namespace

FusedGraph schedule(FusedGraph fused) {
  const std::vector<std::uint32_t> order = find_order(fused);
  // A cycle would be a fault of `materialise` or `fuse`. The order as it came then stands, for `verify` to judge.
  if (order.size() != fused.groups.size()) return fused;
  std::vector<Group> groups;
  std::vector<std::uint32_t> place_of(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    place_of[order[place]] = place;
    groups.push_back(std::move(fused.groups[order[place]]));
  }
  fused.groups = std::move(groups);
  for (std::uint32_t& group : fused.group_of) {
    if (group != no_id) group = place_of[group];
  }
  return fused;
}

}  // namespace kgen
