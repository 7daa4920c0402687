#include "generator/pass/raise/raise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "generator/base/diagnostics.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/pass/raise/match.hpp"

namespace kgen {
namespace {

// What the node, and those behind it, are to be replaced by.
std::optional<Recognised> best_match(SearchedGraph& in, NodeId last, Raised raised) {
  for (const PatternStart& start : in.patterns.ending_in(*in.graph.nodes[last].op)) {
    auto found = recognise(in, start, last);
    if (found && (found->pays || raised == Raised::everywhere)) return found;
  }
  return std::nullopt;
}

// Each match in the place of its last node, where all that it reads has been made.
void put_in_place(SearchedGraph& in, std::map<NodeId, Recognised> found, const std::vector<bool>& removed) {
  Graph& graph = in.graph;
  std::vector<Node> nodes;
  Diagnostics none;  // each node has been typed before
  const auto add = [&](Node& node) {
    infer_node(graph, node, in.ranges, none);
    nodes.push_back(std::move(node));
  };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const auto here = found.find(id);
    if (here == found.end()) {
      if (!removed[id]) nodes.push_back(std::move(graph.nodes[id]));
      continue;
    }
    Recognised& match = here->second;
    const std::string name = graph.value(match.node.outputs[0]).name;
    graph.recognitions.push_back({name, match.node.op, match.covered.size()});
    for (std::size_t i = 0; i < match.node.inputs.size(); ++i) {
      const ValueId input = match.node.inputs[i];
      if (input == no_id || !graph.value(input).name.empty()) continue;
      graph.value(input).name = in.names.take(fmt::format("{}_{}", name, match.node.op->operands[i].name));
    }
    for (Node& view : match.before) add(view);
    add(match.node);
    for (Node& view : match.after) add(view);
  }
  graph.nodes = std::move(nodes);
  number_producers(graph);
}

// Drops the nodes of `staying`, by the values they make, that nothing reads any more: all that did was raised.
void drop_unread(Graph& graph, std::vector<ValueId> staying) {
  if (staying.empty()) return;
  std::sort(staying.begin(), staying.end());
  std::vector<std::uint32_t> readers = count_readers(graph);
  const std::vector<bool> named = named_values(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    const Node& node = graph.nodes[id];
    const ValueId made = node.outputs[0];
    if (readers[made] > 0 || named[made] || !std::binary_search(staying.begin(), staying.end(), made)) continue;
    removed[id] = true;
    std::vector<ValueId> inputs = node.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (const ValueId input : inputs) {
      if (input != no_id) --readers[input];
    }
  }
  drop_nodes(graph, removed);
}

// From the last node to the first, so that what spells a large operator is not taken for a part of it.
void raise_graph(Graph& graph, const OpSet& ops, const PatternTable& patterns, const DimRanges& ranges, Raised raised) {
  if (graph.numerics == Numerics::match_unfused) return;
  SearchedGraph in{
      graph, ops, ranges, patterns, count_readers(graph), named_values(graph), UniqueNames(graph), LoadValues(graph),
      {},    {}};
  in.not_spelled.resize(graph.nodes.size());
  for (const DimRequirement& each : graph.requirements) in.required.emplace(each.left.text(), each.right.text());
  const std::size_t values = graph.values.size();
  std::map<NodeId, Recognised> found;
  std::vector<bool> removed(graph.nodes.size(), false);
  std::vector<ValueId> staying;
  for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    if (removed[id] || !graph.nodes[id].op) continue;
    auto match = best_match(in, id, raised);
    if (!match) continue;
    for (const NodeId covered : match->covered) removed[covered] = true;
    for (const NodeId view : match->staying) staying.push_back(graph.nodes[view].outputs[0]);
    found.emplace(id, std::move(*match));
  }
  if (!found.empty()) put_in_place(in, std::move(found), removed);
  drop_unread(graph, std::move(staying));
  if (graph.values.size() != values || !graph.recognitions.empty()) drop_unused_values(graph);
}

}  // namespace

Module raise(Module module, const OpSet& ops, Raised raised) {
  const PatternTable patterns(ops);
  const DimRanges ranges = ranges_of(module.main);
  for (Graph& function : module.functions) raise_graph(function, ops, patterns, ranges, raised);
  raise_graph(module.main, ops, patterns, ranges, raised);
  return module;
}

}  // namespace kgen
