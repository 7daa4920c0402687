#include "generator/pass/simplify/simplify.hpp"

#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/simplify/apply_algebra.hpp"
#include "generator/pass/simplify/expand_updates.hpp"
#include "generator/pass/simplify/fold_constants.hpp"
#include "generator/pass/simplify/merge_equal_nodes.hpp"
#include "generator/pass/simplify/pull_views.hpp"
#include "generator/pass/simplify/push_concats.hpp"
#include "generator/pass/simplify/remove_dead_nodes.hpp"
#include "generator/pass/simplify/rewriting.hpp"
#include "generator/pass/simplify/simplify_casts.hpp"
#include "generator/pass/simplify/simplify_views.hpp"
#include "generator/pass/simplify/sink_broadcasts.hpp"

namespace kgen {
namespace {

// Nearly every graph is done after two or three rounds. The bound keeps the work linear in chains of views made to need
// one more round for each of their members.
constexpr int most_rounds = 16;

// Applies the first rewrite that applies to the node.
bool rewrite_once(Rewriting& rewriting, NodeId id) {
  ++rewriting.node_visits;
  return fold_constants(rewriting, id) || apply_algebra(rewriting, id) || simplify_casts(rewriting, id) ||
         simplify_views(rewriting, id);
}

bool rewrite_nodes(Rewriting& rewriting, std::size_t& known_constants) {
  bool changed = false;
  if (rewriting.graph.constants.size() != known_constants) changed = merge_equal_constants(rewriting);
  known_constants = rewriting.graph.constants.size();
  SeenNodes seen = no_seen_nodes(rewriting.graph);
  for (NodeId id = 0; id < rewriting.graph.nodes.size(); ++id) {
    resolve_operands(rewriting, rewriting.graph.nodes[id]);
    while (!rewriting.removed[id] && rewrite_once(rewriting, id)) changed = true;
    if (!rewriting.removed[id]) changed |= merge_equal_node(rewriting, seen, id);
  }
  settle_observed(rewriting);
  for (Node& node : rewriting.graph.nodes) resolve_operands(rewriting, node);
  return changed;
}

void warn_of_unread(const Graph& graph, Diagnostics& diagnostics) {
  const std::vector<std::uint32_t> readers = count_readers(graph);
  for (const Node& node : graph.nodes) {
    if (node.within.empty()) warn_if_unread(graph, node, readers, diagnostics);
  }
}

}  // namespace

void simplify_graph(Graph& graph, const OpSet& ops, Numerics numerics, Diagnostics& diagnostics, std::size_t* visits) {
  Rewriting rewriting = start_rewriting(graph, ops, numerics);
  expand_updates(rewriting, diagnostics);
  bool changed = true;
  std::size_t known_constants = 0;  // how many were there when equal ones were last merged
  for (int round = 0; changed && round < most_rounds; ++round) {
    changed = rewrite_nodes(rewriting, known_constants);
    remove_dead_nodes(rewriting);
    changed |= pull_views(rewriting);
    changed |= push_concats(rewriting);
  }
  remove_dead_nodes(rewriting);
  drop_unused_values(graph);
  if (visits) *visits += rewriting.node_visits;
}

Module simplify(Module module, const OpSet& ops, Diagnostics& diagnostics, std::size_t* node_visits) {
  std::size_t visits = 0;
  for (const Graph& function : module.functions) warn_of_unread(function, diagnostics);
  warn_of_unread(module.main, diagnostics);
  module = sink_broadcasts(std::move(module));
  for (Graph& function : module.functions) simplify_graph(function, ops, module.main.numerics, diagnostics, &visits);
  simplify_graph(module.main, ops, module.main.numerics, diagnostics, &visits);
  if (node_visits) *node_visits = visits;
  return module;
}

}  // namespace kgen
