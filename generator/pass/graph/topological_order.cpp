#include "generator/pass/graph/topological_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace kgen {
namespace {

NodeId producer_of(const Graph& graph, ValueId id) { return id == no_id ? no_id : graph.value(id).producer; }

bool is_sorted(const Graph& graph) {
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    for (const ValueId input : graph.nodes[node].inputs) {
      const NodeId producer = producer_of(graph, input);
      if (producer != no_id && producer >= node) return false;
    }
  }
  return true;
}

// The readers of each node's results: those of node i stand in readers[first[i]] to readers[first[i + 1]].
struct Readers {
  std::vector<std::uint32_t> first;
  std::vector<NodeId> readers;
};

template <class Visit>
void for_each_edge(const Graph& graph, Visit visit) {
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    for (const ValueId input : graph.nodes[node].inputs) {
      const NodeId producer = producer_of(graph, input);
      if (producer != no_id) visit(producer, node);
    }
  }
}

Readers readers_of(const Graph& graph) {
  Readers result;
  result.first.assign(graph.nodes.size() + 1, 0);
  for_each_edge(graph, [&](NodeId producer, NodeId) { ++result.first[producer + 1]; });
  for (std::size_t i = 1; i < result.first.size(); ++i) result.first[i] += result.first[i - 1];
  result.readers.resize(result.first.back());
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for_each_edge(graph, [&](NodeId producer, NodeId reader) { result.readers[next[producer]++] = reader; });
  return result;
}

// As many nodes as can run, in order. `waiting` ends as the number of inputs that each node still waits for.
std::vector<NodeId> ready_order(const Graph& graph, std::vector<std::uint32_t>& waiting) {
  const Readers readers = readers_of(graph);
  waiting.assign(graph.nodes.size(), 0);
  for (const NodeId reader : readers.readers) ++waiting[reader];

  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    if (waiting[node] == 0) ready.push(node);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId node = ready.top();
    ready.pop();
    order.push_back(node);
    for (std::uint32_t i = readers.first[node]; i < readers.first[node + 1]; ++i) {
      if (--waiting[readers.readers[i]] == 0) ready.push(readers.readers[i]);
    }
  }
  return order;
}

// The values around one cycle, each an operand of the node that makes the next one. Every node that waits has an input
// from another that waits, so walking back along such inputs must come round.
std::vector<ValueId> find_cycle(const Graph& graph, const std::vector<std::uint32_t>& waiting) {
  const auto waiting_input = [&](NodeId node) {
    const auto& inputs = graph.nodes[node].inputs;
    return *std::find_if(inputs.begin(), inputs.end(), [&](ValueId id) {
      const NodeId producer = producer_of(graph, id);
      return producer != no_id && waiting[producer] > 0;
    });
  };
  auto node = static_cast<NodeId>(
      std::find_if(waiting.begin(), waiting.end(), [](std::uint32_t count) { return count > 0; }) - waiting.begin());
  std::vector<std::size_t> seen_at(graph.nodes.size(), graph.nodes.size());
  std::vector<ValueId> path;
  while (seen_at[node] == graph.nodes.size()) {
    seen_at[node] = path.size();
    path.push_back(waiting_input(node));
    node = graph.value(path.back()).producer;
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen_at[node]));
  std::reverse(path.begin(), path.end());
  return path;
}

void report_cycle(const Graph& graph, const std::vector<std::uint32_t>& waiting, Diagnostics& diagnostics) {
  constexpr std::size_t most_shown = 10;
  const std::vector<ValueId> cycle = find_cycle(graph, waiting);
  const std::size_t shown = std::min(cycle.size(), most_shown);
  std::string path;
  for (std::size_t i = 0; i < shown; ++i) path += graph.value(cycle[i]).name + " -> ";
  if (shown < cycle.size()) path += fmt::format("({} more) -> ", cycle.size() - shown);
  path += graph.value(cycle[0]).name;

  const auto node_of = [&](ValueId id) -> const Node& { return graph.nodes[graph.value(id).producer]; };
  auto& error = diagnostics.error(node_of(cycle[0]).where, fmt::format("'{}' depends on itself: {}",
                                                                       graph.value(cycle[0]).name, path));
  for (std::size_t i = 1; i < std::min(cycle.size(), std::size_t{4}); ++i) {
    error.note(node_of(cycle[i]).where, fmt::format("'{}' reads '{}' here", graph.value(cycle[i]).name,
                                                    graph.value(cycle[i - 1]).name));
  }
  error.advise("what one call leaves for the next is written as state, with `next`");
}

}  // namespace

bool sort_nodes(Graph& graph, Diagnostics& diagnostics) {
  if (is_sorted(graph)) return true;
  std::vector<std::uint32_t> waiting;
  const std::vector<NodeId> order = ready_order(graph, waiting);
  if (order.size() < graph.nodes.size()) {
    report_cycle(graph, waiting, diagnostics);
    return false;
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const NodeId node : order) sorted.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(sorted);
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    for (const ValueId output : graph.nodes[node].outputs) graph.value(output).producer = node;
  }
  return true;
}

}  // namespace kgen
