#include "generator/pass/fuse/fuse_orders.hpp"

#include <algorithm>

#include "generator/base/contains.hpp"

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
    add_forced(std::move(named));
  }
  for (const std::size_t number : alone) forced_[number].alone = true;
}

void FuseOrders::add_forced(std::vector<NodeId> named) {
  const Graph& graph = facts_.graph();
  const std::size_t number = forced_.size();
  forced_.push_back({});
  if (named.empty()) return;
  // Nodes are in the order of execution, so that what lies between two of them has a number between theirs.
  const auto [first, last] = std::minmax_element(named.begin(), named.end());
  const NodeId begin = *first, end = *last + 1;
  std::vector<bool> needs_one(end - begin, false);
  for (const NodeId id : named) needs_one[id - begin] = true;
  std::vector<bool> feeds_one = needs_one;
  for (NodeId id = begin; id < end; ++id) {
    for (const ValueId input : graph.nodes[id].inputs) {
      if (input == no_id || graph.value(input).kind != ValueKind::result) continue;
      const NodeId maker = graph.value(input).producer;
      if (maker >= begin && needs_one[maker - begin]) needs_one[id - begin] = true;
    }
  }
  for (NodeId id = end; id-- > begin;) {
    for (const ValueId output : graph.nodes[id].outputs) {
      for (const NodeId reader : facts_.consumers(output)) {
        if (reader < end && feeds_one[reader - begin]) feeds_one[id - begin] = true;
      }
    }
    if (needs_one[id - begin] && feeds_one[id - begin]) sets_of_[id].push_back(number);
  }
  forced_.back().last = end - 1;
  forced_.back().named = std::move(named);
}

namespace {

template <class Map, class Key>
const auto& find_or_none(const Map& map, const Key& key) {
  static const typename Map::mapped_type none;
  const auto found = map.find(key);
  return found == map.end() ? none : found->second;
}

}  // namespace

const FuseOrders::Numbers& FuseOrders::sets_of(NodeId node) const { return find_or_none(sets_of_, node); }

const FuseOrders::Numbers& FuseOrders::sets_in(std::uint32_t group) const { return find_or_none(sets_in_, group); }

void FuseOrders::joined(NodeId node, const std::vector<std::uint32_t>& ids) {
  if (forced_.empty()) return;
  const std::uint32_t group = groups_.group_of(node);
  const auto add = [&](const Numbers& numbers) {
    if (numbers.empty()) return;
    Numbers& known = sets_in_[group];
    for (const std::size_t number : numbers) {
      if (contains(known, number)) continue;
      known.push_back(number);
      forced_[number].groups.push_back(group);
    }
  };
  add(sets_of(node));
  for (const std::uint32_t id : ids) {
    if (id == group) continue;
    const Numbers taken_in = sets_in(id);
    for (const std::size_t number : taken_in) std::erase(forced_[number].groups, id);
    add(taken_in);
    sets_in_.erase(id);
  }
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
  const auto splits = [&](std::size_t number) {
    const ForcedSet& set = forced_[number];
    if (!set.alone || id >= set.last) return false;
    const bool member = contains(sets_of(id), number);
    return std::any_of(ids.begin(), ids.end(),
                       [&](std::uint32_t group) { return contains(sets_in(group), number) != member; });
  };
  const auto any_splits = [&](const Numbers& numbers) { return std::any_of(numbers.begin(), numbers.end(), splits); };
  return any_splits(sets_of(id)) ||
         std::any_of(ids.begin(), ids.end(), [&](std::uint32_t group) { return any_splits(sets_in(group)); });
}

bool FuseOrders::forced(NodeId id, const std::vector<std::uint32_t>& ids) const {
  if (forced_.empty()) return false;
  return std::all_of(ids.begin(), ids.end(), [&](std::uint32_t group) {
    const Numbers& sets = sets_in(group);
    return std::any_of(sets.begin(), sets.end(), [&](std::size_t number) {
      return contains(sets_of(id), number) || std::any_of(ids.begin(), ids.end(), [&](auto other) {
               return other != group && contains(sets_in(other), number);
             });
    });
  });
}

std::vector<std::uint32_t> FuseOrders::forced_with(NodeId id) const {
  std::vector<std::uint32_t> ids;
  const Numbers& sets = sets_of(id);
  for (const std::size_t number : sets) {
    for (const std::uint32_t group : forced_[number].groups) {
      const bool known = sets.size() > 1 && std::find(ids.begin(), ids.end(), group) != ids.end();
      if (!known) ids.push_back(group);
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
