#include "generator/pass/materialise/order_updates.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "generator/base/contains.hpp"
#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/graph/update_order.hpp"

namespace kgen {
namespace {

// Beyond so many later updates nobody looks whether they meet a part.
constexpr int most_later = 64;

// Whether anything but the whole that it is a part of reads something that the update brings.
bool is_read_beside(const Graph& graph, const std::vector<std::uint32_t>& readers, const Node& update) {
  const std::vector<ValueId> parts = parts_of(graph, update.inputs[1]);
  return std::any_of(parts.begin(), parts.end(), [&](ValueId part) { return readers[part] > 1; });
}

// `writer`, which makes what the update with the result `update` brings, waits for the maker of a version.
struct Wait {
  NodeId writer = no_id;
  NodeId maker = no_id;
  ValueId update = no_id;
};

// Whether `writer` makes what both updates bring, in their order: a stub is said to write its results in the order that
// they have, and so the versions.
bool brings_both(const Graph& graph, NodeId writer, const Node& earlier, const Node& later) {
  const Value& first = graph.value(earlier.inputs[1]);
  const Value& second = graph.value(later.inputs[1]);
  return first.producer == writer && second.producer == writer && first.index < second.index;
}

std::vector<Wait> waits_of(const Graph& graph, const DimRanges& ranges) {
  std::vector<Wait> waits;
  for (const Node& node : graph.nodes) {
    if (!is_update(node)) continue;
    const Node* earlier = update_making(graph, node.inputs[0]);
    if (!earlier && graph.value(node.inputs[0]).kind != ValueKind::result) continue;
    for (const NodeId writer : writers_of(graph, node.inputs[1])) {
      const auto is_beside = [&](NodeId other) {
        return other == writer && brings_both(graph, writer, *earlier, node);
      };
      const ValueId version = version_needed(graph, node, ranges, is_beside);
      if (version != no_id) waits.push_back({writer, graph.value(version).producer, node.outputs[0]});
    }
  }
  return waits;
}

// Kahn's algorithm, the earliest ready node first, over what nodes read and what they wait for besides.
class Ordering {
 public:
  Ordering(const Graph& graph, const std::vector<Wait>& waits)
      : waits_(waits), successors_(graph.nodes.size()), reads_(graph.nodes.size(), 0), waiting_(graph.nodes.size(), 0) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      for (const ValueId input : graph.nodes[id].inputs) {
        if (input == no_id || graph.value(input).producer == no_id) continue;
        successors_[graph.value(input).producer].push_back(id);
        ++reads_[id];
      }
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {
      waiting_for_[waits[i].maker].push_back(i);
      ++waiting_[waits[i].writer];
    }
    dropped_.assign(waits.size(), false);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) release(id);
  }

  std::vector<NodeId> run() {
    std::vector<NodeId> order;
    while (!ready_.empty() || drop_one()) {
      const NodeId done = ready_.top();
      ready_.pop();
      order.push_back(done);
      for (const NodeId next : successors_[done]) {
        --reads_[next];
        release(next);
      }
      const auto behind = waiting_for_.find(done);
      if (behind == waiting_for_.end()) continue;
      for (const std::size_t wait : behind->second) drop(wait);
    }
    return order;
  }

  // The updates for which a node could not wait.
  const std::vector<ValueId>& given_up() const { return given_up_; }

 private:
  void release(NodeId id) {
    if (reads_[id] == 0 && waiting_[id] == 0) ready_.push(id);
  }

  void drop(std::size_t wait) {
    if (dropped_[wait]) return;
    dropped_[wait] = true;
    --waiting_[waits_[wait].writer];
    release(waits_[wait].writer);
  }

  // Nothing is ready: among the nodes that are left, one has all that it reads.
  bool drop_one() {
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (dropped_[i] || reads_[waits_[i].writer] > 0) continue;
      if (!contains(given_up_, waits_[i].update)) given_up_.push_back(waits_[i].update);
      drop(i);
      if (!ready_.empty()) return true;
    }
    return false;
  }

  const std::vector<Wait>& waits_;
  std::vector<std::vector<NodeId>> successors_;
  std::vector<std::uint32_t> reads_, waiting_;  // by node: how many are not done
  std::unordered_map<NodeId, std::vector<std::size_t>> waiting_for_;
  std::vector<bool> dropped_;  // by wait: done, or given up
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready_;
  std::vector<ValueId> given_up_;
};

}  // namespace

std::vector<ValueId> updates_of_parts_kept(const Graph& graph, const DimRanges& ranges) {
  std::unordered_map<ValueId, const Node*> next;  // by version of a state: what updates it
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (const ValueId buffer = updated_operand(node, i); buffer != no_id) next[buffer] = &node;
    }
  }
  std::vector<ValueId> kept;
  if (next.empty()) return kept;
  const std::vector<std::uint32_t> readers = count_readers(graph);
  for (const Node& node : graph.nodes) {
    if (!is_update(node) || !is_read_beside(graph, readers, node)) continue;
    int seen = 0;
    for (auto later = next.find(node.outputs[0]); later != next.end(); later = next.find(later->second->outputs[0])) {
      const bool apart = is_update(*later->second) && provably_apart(graph, node, *later->second, ranges);
      if (apart && ++seen < most_later) continue;
      kept.push_back(node.outputs[0]);
      break;
    }
  }
  return kept;
}

std::vector<ValueId> order_updates(Graph& graph, const DimRanges& ranges) {
  const std::vector<Wait> waits = waits_of(graph, ranges);
  if (std::all_of(waits.begin(), waits.end(), [](const Wait& wait) { return wait.maker < wait.writer; })) return {};
  Ordering ordering(graph, waits);
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  for (const NodeId id : ordering.run()) sorted.push_back(std::move(graph.nodes[id]));
  graph.nodes = std::move(sorted);
  number_producers(graph);
  return ordering.given_up();
}

}  // namespace kgen
