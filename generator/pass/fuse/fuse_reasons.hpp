// Says of each value that passes between two nodes why one stub computes both, or why none does.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

// Why nodes did not join the groups of those that make their operands, kept while groups grow.
class Refusals {
 public:
  // The first reason stays.
  void add(NodeId consumer, NodeId producer, const std::string& why) { why_.emplace(edge(consumer, producer), why); }
  // What became of it when more was known.
  void replace(NodeId consumer, NodeId producer, std::string why) { why_[edge(consumer, producer)] = std::move(why); }
  // Null: none was given.
  const std::string* find(NodeId consumer, NodeId producer) const {
    const auto found = why_.find(edge(consumer, producer));
    return found == why_.end() ? nullptr : &found->second;
  }

 private:
  static std::uint64_t edge(NodeId consumer, NodeId producer) {
    return (static_cast<std::uint64_t>(consumer) << 32) | producer;
  }
  std::unordered_map<std::uint64_t, std::string> why_;
};

// By node: the sibling whose call it was to join, and why it did not; empty: it did.
struct MetSibling {
  NodeId sibling = no_id;
  std::string why;
};
using MetSiblings = std::unordered_map<NodeId, MetSibling>;

// In the order of the consumers. Of `fused` its groups are read, not its graph. `enabled`: that nodes were let join.
std::vector<Decision> fuse_decisions(const FuseFacts& facts, const FusedGraph& fused, const Refusals& refusals,
                                     const MetSiblings& siblings, bool enabled);

}  // namespace kgen
