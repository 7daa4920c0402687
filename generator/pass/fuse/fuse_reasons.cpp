#include "generator/pass/fuse/fuse_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/parallel.hpp"
#include "generator/pass/fuse/fuse_siblings.hpp"
#include "generator/pass/graph/source_operand.hpp"

namespace kgen {
namespace {

// The prologue that holds the node; null: none does.
const Prologue* prologue_of(const Group& group, NodeId node) {
  const auto found = std::find_if(group.prologues.begin(), group.prologues.end(), [&](const Prologue& prologue) {
    return std::binary_search(prologue.nodes.begin(), prologue.nodes.end(), node);
  });
  return found == group.prologues.end() ? nullptr : &*found;
}

std::string prologue_reason(const FuseFacts& facts, const Group& group, const Prologue& prologue) {
  const std::vector<NodeId> roots = prologue.reader == no_id ? roots_of(group) : std::vector{prologue.reader};
  const std::int64_t times = evaluations(facts.scope(facts.graph().nodes[roots.front()]), prologue.operand, roots);
  const std::string taken = fmt::format("a prologue of {} takes it", facts.graph().nodes[group.root].kernel->name);
  if (times == 1) return taken;
  return fmt::format("{}, and computes it up to {} times over", taken, times);
}

bool makes_row_state(const Group& group, NodeId node) {
  return std::binary_search(group.row_state.nodes.begin(), group.row_state.nodes.end(), node);
}

// Of what an epilogue reads of each row.
std::string row_state_reason(const FuseFacts& facts, const Group& group) {
  const Node& root = facts.graph().nodes[group.root];
  const auto times = row_evaluations(facts.scope(root), group.epilogues.front().results.front() % root.outputs.size(),
                                     roots_of(group));
  const std::string made = fmt::format("the stub of {} makes it of each row for the epilogue", root.kernel->name);
  const std::int64_t most = times ? times->range(facts.ranges()).high : 1;
  return most == 1 ? made : fmt::format("{}, up to {} times over", made, most);
}

std::string fused_reason(const FuseFacts& facts, const Group& group, NodeId producer, NodeId consumer) {
  const Graph& graph = facts.graph();
  if (group.kind == GroupKind::rows) return "they walk the same rows";
  if (group.kind != GroupKind::structured) return "they walk the same loop";
  const Node& root = graph.nodes[group.root];
  const std::string& kernel = root.kernel->name;
  const std::vector<NodeId> roots = roots_of(group);
  if (const auto& nodes = group.statistics.nodes; std::binary_search(nodes.begin(), nodes.end(), consumer)) {
    if (std::binary_search(nodes.begin(), nodes.end(), producer)) return "they walk the same rows";
    return fmt::format("{} makes it of each row as that comes, or reads the row again", kernel);
  }
  if (makes_row_state(group, consumer)) return "they walk the same rows";
  if (makes_row_state(group, producer)) return row_state_reason(facts, group);
  if (const Prologue* prologue = prologue_of(group, producer)) return prologue_reason(facts, group, *prologue);
  if (root.outputs.size() * roots.size() == 1) return fmt::format("the epilogue of {} takes it", kernel);
  const auto taken_by = std::find_if(group.epilogues.begin(), group.epilogues.end(), [&](const Epilogue& each) {
    return std::binary_search(each.nodes.begin(), each.nodes.end(), consumer);
  });
  std::vector<std::string> results;
  for (const std::size_t each : taken_by->results) {
    const std::string& result = graph.value(numbered_result(graph, roots, each)).name;
    results.push_back(roots.size() > 1 ? result : root.op->results[each].name);
  }
  return fmt::format("the epilogue on {} of {} takes it", quoted_list(results), kernel);
}

// What `value` shows, past all views.
struct Viewed {
  ValueId base = no_id;
  std::string views;      // by which operators: "slice and reshape"; empty: it is no view
  ValueId whole = no_id;  // what `base` is a part of
};

Viewed viewed_by(const Graph& graph, ValueId value) {
  const NodeId maker = graph.value(value).producer;
  if (maker == no_id || !std::holds_alternative<IndexMap>(graph.nodes[maker].kind)) return {value, {}, no_id};
  std::vector<std::string> views;
  ValueId whole = no_id;
  while (graph.value(value).kind == ValueKind::result) {
    const Node& node = graph.nodes[graph.value(value).producer];
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (!view) break;
    if (is_destination(*view)) whole = value;
    if (node.op) views.push_back(node.op->name);
    value = node.inputs[0];
  }
  std::reverse(views.begin(), views.end());
  return {value, fmt::format("{}", fmt::join(views, " and ")), whole};
}

// Where `producer` and `consumer` are apart and no rule was asked, because none could apply.
std::string reason_of_kinds(const Graph& graph, NodeId producer, NodeId consumer) {
  const Node& reader = graph.nodes[consumer];
  if (std::holds_alternative<Call>(reader.kind)) return "a function's stubs are emitted once, for all its calls";
  if (std::holds_alternative<Opaque>(reader.kind) && reader.kernel) {
    return fmt::format("{} is opaque: nothing fuses into it", reader.kernel->name);
  }
  if (std::holds_alternative<Call>(graph.nodes[producer].kind)) {
    return "it comes out of a function, which is emitted once";
  }
  return "its reader joined another stub";
}

// Of a node and the sibling that came before it.
Decision siblings_decision(const FuseFacts& facts, const FusedGraph& fused, const MetSibling& met, NodeId id) {
  const Graph& graph = facts.graph();
  const std::vector<ValueId> shared = shared_operands(graph, id);
  Decision made{
      .value = shared.front(), .producer = met.sibling, .consumer = id, .fused = false, .reason = met.why, .bytes = {}};
  made.siblings = true;
  made.fused = fused.group_of[met.sibling] == fused.group_of[id];
  std::vector<std::string> read, computed;
  for (const ValueId value : shared) {
    const NodeId maker = graph.value(value).producer;
    const bool inside = maker != no_id && fused.group_of[maker] == fused.group_of[id];
    (inside ? computed : read).push_back(written_name(graph, value));
    if (!inside) made.bytes = made.bytes + bytes_of(graph.type(value));
  }
  if (!made.fused) return made;
  std::string once;
  if (!read.empty()) once += fmt::format("{} {} read once", quoted_list(read), read.size() == 1 ? "is" : "are");
  if (!computed.empty()) {
    once += fmt::format("{}{} {} computed once", once.empty() ? "" : ", and ", quoted_list(computed),
                        computed.size() == 1 ? "is" : "are");
  }
  made.reason = fmt::format("one call of {} computes both: {}", graph.nodes[id].kernel->name, once);
  return made;
}

// The bytes that it takes to write a value of a type and to read it again. A graph has few types and many values, which
// share the size so.
class Traffic {
 public:
  Dim of(const TensorType& type) {
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.first == type; });
    if (known != known_.end()) return known->second;
    if (known_.size() == most_known) known_.clear();
    return known_.emplace_back(type, bytes_of(type) * Dim(2)).second;
  }

 private:
  static constexpr std::size_t most_known = 32;
  std::vector<std::pair<TensorType, Dim>> known_;
};

}  // namespace

Refusals Refusals::renumbered(const std::vector<NodeId>& new_id) const {
  Refusals same;
  same.why_.reserve(why_.size());
  for (const auto& [key, why] : why_) {
    same.why_.emplace(edge(new_id[static_cast<NodeId>(key >> 32)], new_id[static_cast<NodeId>(key)]), why);
  }
  return same;
}

FusionReasons renumbered(const FusionReasons& reasons, const std::vector<NodeId>& new_id) {
  FusionReasons same{reasons.refusals.renumbered(new_id), {}};
  for (const auto& [node, met] : reasons.siblings) same.siblings[new_id[node]] = {new_id[met.sibling], met.why};
  return same;
}

std::vector<Decision> fuse_decisions(const FuseFacts& facts, const FusedGraph& fused, const FusionReasons& reasons,
                                     bool enabled) {
  const Graph& graph = facts.graph();
  const auto decide = [&](NodeId consumer, ValueId value, Traffic& traffic) {
    Decision made{.value = value, .producer = no_id, .consumer = consumer, .fused = false, .reason = {}, .bytes = {}};
    const auto [base, views, whole] = viewed_by(graph, value);
    if (graph.value(base).kind != ValueKind::result) return made;
    made.producer = graph.value(base).producer;
    // What is computed again was neither written nor read before: Recomputation says what that saves.
    if (graph.value(base).again_of == no_id) made.bytes = traffic.of(graph.type(base));
    const std::string* refusal = reasons.refusals.find(consumer, made.producer);
    const std::uint32_t group = fused.group_of[consumer];
    if (base == facts.unshaped(value) && fused.group_of[made.producer] == group) {
      made.fused = true;
      made.reason = fused_reason(facts, fused.groups[group], made.producer, consumer);
    } else if (!enabled) {
      made.reason = "fusion is off";
    } else if (whole != no_id) {
      made.reason = fmt::format("it is written to memory as a part of '{}'", graph.value(whole).name);
    } else if (refusal) {
      made.reason = *refusal;
    } else if (!views.empty()) {
      made.reason = fmt::format("it is read through a view ({}), in place from memory", views);
    } else {
      made.reason = reason_of_kinds(graph, made.producer, consumer);
    }
    return made;
  };
  const auto decide_all = [&](std::size_t first, std::size_t end) {
    std::vector<Decision> decisions;
    decisions.reserve(end - first);
    Traffic traffic;
    for (NodeId id = static_cast<NodeId>(first); id < end; ++id) {
      if (facts.is_view(id)) continue;
      const std::vector<ValueId>& inputs = graph.nodes[id].inputs;
      for (auto input = inputs.begin(); input != inputs.end(); ++input) {
        if (*input == no_id || std::find(inputs.begin(), input, *input) != input) continue;
        Decision made = decide(id, *input, traffic);
        if (made.producer != no_id) decisions.push_back(std::move(made));
      }
      if (const auto met = reasons.siblings.find(id); met != reasons.siblings.end()) {
        decisions.push_back(siblings_decision(facts, fused, met->second, id));
      }
    }
    return decisions;
  };
  return concatenated(in_stretches(graph.nodes.size(), decide_all));
}

}  // namespace kgen
