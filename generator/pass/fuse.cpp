#include "generator/pass/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generator/pass/fuse_facts.hpp"
#include "generator/pass/fuse_groups.hpp"
#include "generator/pass/fuse_join.hpp"

namespace kgen {
namespace {

// `fusion:` and `expect_fused:` in terms of nodes.
struct Orders {
  std::unordered_map<NodeId, std::vector<NodeId>> forbidden;  // both ways
  std::unordered_map<NodeId, std::vector<NodeId>> forced;     // both ways
};

class Fusion {
 public:
  Fusion(const Graph& graph, const FuseOptions& options, Diagnostics& diagnostics)
      : graph_(graph), options_(options), diagnostics_(diagnostics), facts_(graph), groups_(facts_) {}

  // All but the graph itself.
  FusedGraph run() {
    read_orders();
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (facts_.is_view(id)) {
        groups_.pass_view(id);
      } else {
        visit(id);
      }
    }
    FusedGraph fused;
    number_groups(fused);
    decide(fused);
    check_expectations(fused);
    return fused;
  }

 private:
  void read_orders();
  void visit(NodeId id);
  bool visit_structured(NodeId id);
  std::vector<std::uint32_t> producers(NodeId id) const;
  bool try_join(NodeId id, const std::vector<std::uint32_t>& ids);
  bool try_siblings(NodeId id);
  bool feeds_source(NodeId id) const;
  std::string order_against(NodeId id, const std::vector<std::uint32_t>& ids) const;
  bool forced_into(NodeId id, const std::vector<std::uint32_t>& ids) const;
  void refused(NodeId id, const std::vector<std::uint32_t>& ids, const std::string& why);
  void number_groups(FusedGraph& fused) const;
  void fill_group(Group& group, const GrowingGroup& grown) const;
  bool leaves_group(ValueId value, std::uint32_t id) const;
  void decide(FusedGraph& fused) const;
  Decision decision(const FusedGraph& fused, NodeId consumer, ValueId value) const;
  std::string fused_reason(NodeId producer, NodeId consumer) const;
  void check_expectations(const FusedGraph& fused);

  const Graph& graph_;
  const FuseOptions& options_;
  Diagnostics& diagnostics_;
  FuseFacts facts_;
  FuseGroups groups_;
  Orders orders_;
  // Why a node did not join the group of the node that makes its operand: (consumer, producer) -> reason.
  std::unordered_map<std::uint64_t, std::string> refusals_;
};

std::uint64_t edge(NodeId consumer, NodeId producer) { return (static_cast<std::uint64_t>(consumer) << 32) | producer; }

void Fusion::read_orders() {
  const FusionDirectives& directives = graph_.directives;
  if (directives.forbid.empty() && directives.force.empty()) return;
  std::unordered_map<std::string, NodeId> makers;
  for (const Value& value : graph_.values) {
    if (value.kind == ValueKind::result) makers[value.name] = value.producer;
  }
  const auto pairs = [&](const std::vector<FusionDirectives::Group>& sets, auto& out) {
    for (const auto& set : sets) {
      for (const std::string& a : set.values) {
        for (const std::string& b : set.values) {
          if (a != b && makers.contains(a) && makers.contains(b)) out[makers[a]].push_back(makers[b]);
        }
      }
    }
  };
  pairs(directives.forbid, orders_.forbidden);
  pairs(directives.force, orders_.forced);
}

// The graph's word on `id` joining `ids`: empty where there is none against it.
std::string Fusion::order_against(NodeId id, const std::vector<std::uint32_t>& ids) const {
  if (orders_.forbidden.empty()) return {};
  const auto in_ids = [&](NodeId node) { return std::find(ids.begin(), ids.end(), groups_.group_of(node)) != ids.end(); };
  std::vector<NodeId> members{id};
  for (const std::uint32_t group : ids) {
    members.insert(members.end(), groups_.group(group).nodes.begin(), groups_.group(group).nodes.end());
  }
  for (const NodeId member : members) {
    const auto found = orders_.forbidden.find(member);
    if (found == orders_.forbidden.end()) continue;
    for (const NodeId other : found->second) {
      const bool together = other == id || (other < id && in_ids(other));
      if (together && (member == id || other == id || groups_.group_of(member) != groups_.group_of(other))) {
        return "the graph forbids it (`fusion: forbid`)";
      }
    }
  }
  return {};
}

bool Fusion::forced_into(NodeId id, const std::vector<std::uint32_t>& ids) const {
  const auto found = orders_.forced.find(id);
  if (found == orders_.forced.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](NodeId other) {
    return other < id && !facts_.is_view(other) && std::find(ids.begin(), ids.end(), groups_.group_of(other)) != ids.end();
  });
}

// The groups that make operands of `id`, deepest first, each once.
std::vector<std::uint32_t> Fusion::producers(NodeId id) const {
  std::vector<std::uint32_t> ids;
  for (const ValueId input : graph_.nodes[id].inputs) {
    if (input == no_id) continue;
    const std::uint32_t maker = groups_.group_making(facts_.peel(input));
    if (maker != no_id && std::find(ids.begin(), ids.end(), maker) == ids.end()) ids.push_back(maker);
  }
  std::stable_sort(ids.begin(), ids.end(),
                   [&](auto a, auto b) { return groups_.group(a).depth > groups_.group(b).depth; });
  return ids;
}

void Fusion::refused(NodeId id, const std::vector<std::uint32_t>& ids, const std::string& why) {
  for (const ValueId input : graph_.nodes[id].inputs) {
    if (input == no_id) continue;
    const ValueId shown = facts_.peel(input);
    const std::uint32_t maker = groups_.group_making(shown);
    if (maker == no_id || std::find(ids.begin(), ids.end(), maker) == ids.end()) continue;
    refusals_.emplace(edge(id, graph_.value(shown).producer), why);
  }
}

bool Fusion::try_join(NodeId id, const std::vector<std::uint32_t>& ids) {
  if (std::string order = order_against(id, ids); !order.empty()) {
    refused(id, ids, order);
    return false;
  }
  Joint joint = with_producers(facts_, groups_, id, ids);
  if (!joint.group) {
    refused(id, ids, joint.refusal);
    return false;
  }
  if (!groups_.stays_acyclic(id, ids)) {
    refused(id, ids, "another stub between them needs the one and feeds the other");
    return false;
  }
  if (!groups_.within_limits(id, ids) && !forced_into(id, ids)) {
    refused(id, ids, "the stub is large enough: more would not fit in registers");
    return false;
  }
  groups_.join(id, ids, std::move(*joint.group));
  return true;
}

// The result's only reader is a kernel whose operand takes a prologue.
bool Fusion::feeds_source(NodeId id) const {
  const ValueId result = graph_.nodes[id].outputs[0];
  if (facts_.consumers(result).size() != 1 || facts_.kept(result)) return false;
  const Node& reader = graph_.nodes[facts_.consumers(result)[0]];
  if (!std::holds_alternative<Structured>(reader.kind)) return false;
  const KernelSignature* kernel = reader.kernel;
  const auto operand = static_cast<std::size_t>(std::find(reader.inputs.begin(), reader.inputs.end(), result) -
                                                reader.inputs.begin());
  return kernel && operand < kernel->operands.size() && kernel->operands[operand].accepts == Accepts::source;
}

// Rule: two loops that read the same memory become one. Not where either would be a kernel's prologue: that saves a
// write and a read, this only a read.
bool Fusion::try_siblings(NodeId id) {
  if (feeds_source(id)) return false;
  for (const ValueId input : graph_.nodes[id].inputs) {
    if (input == no_id || is_literal(graph_, graph_.nodes[id], input)) continue;
    const std::uint32_t sibling = groups_.last_reader(input);
    if (sibling == no_id) continue;
    const bool makes_operand = std::any_of(graph_.nodes[id].inputs.begin(), graph_.nodes[id].inputs.end(), [&](ValueId v) {
      return v != no_id && groups_.group_making(facts_.peel(v)) == sibling;
    });
    if (makes_operand || !order_against(id, {sibling}).empty()) continue;
    const std::vector<NodeId>& members = groups_.group(sibling).nodes;
    if (std::any_of(members.begin(), members.end(), [&](NodeId member) { return feeds_source(member); })) continue;
    Joint joint = with_sibling(facts_, groups_, id, sibling);
    if (!joint.group || !groups_.stays_acyclic(id, {sibling}) || !groups_.within_limits(id, {sibling})) continue;
    groups_.join(id, {sibling}, std::move(*joint.group));
    return true;
  }
  return false;
}

// Each operand that is a source takes the elementwise group that makes it for this kernel alone.
bool Fusion::visit_structured(NodeId id) {
  const Node& node = graph_.nodes[id];
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_id) continue;
    const std::uint32_t maker = groups_.group_making(node.inputs[i]);
    if (maker == no_id || groups_.group(maker).kind == GroupKind::call) continue;
    std::string why = order_against(id, {maker});
    if (why.empty()) why = with_prologue(facts_, groups_, id, i).refusal;
    if (why.empty() && !groups_.within_limits(id, {maker})) why = "the stub is large enough";
    if (why.empty()) {
      ids.push_back(maker);
    } else {
      refused(id, {maker}, why);
    }
  }
  if (ids.empty()) return false;
  if (!groups_.stays_acyclic(id, ids)) {
    refused(id, ids, "another stub between them needs the one and feeds the other");
    return false;
  }
  groups_.join(id, ids, alone(facts_, id));
  return true;
}

void Fusion::visit(NodeId id) {
  const Node& node = graph_.nodes[id];
  const bool loops = std::holds_alternative<Elementwise>(node.kind) || std::holds_alternative<Reduction>(node.kind);
  if (options_.enabled && loops) {
    const std::vector<std::uint32_t> ids = producers(id);
    if (ids.size() > 1 && try_join(id, ids)) return;
    for (const std::uint32_t candidate : ids) {
      if (try_join(id, {candidate})) return;
    }
    if (try_siblings(id)) return;
  } else if (options_.enabled && std::holds_alternative<Structured>(node.kind)) {
    if (visit_structured(id)) return;
  }
  groups_.start(id, alone(facts_, id));
}

// Whether `value`, made in group `id`, is read by anything outside it.
bool Fusion::leaves_group(ValueId value, std::uint32_t id) const {
  if (facts_.kept(value)) return true;
  for (const NodeId reader : facts_.consumers(value)) {
    if (!facts_.is_view(reader)) {
      if (groups_.group_of(reader) != id) return true;
      continue;
    }
    const ValueId shown = graph_.nodes[reader].outputs[0];
    if (facts_.peel(shown) != facts_.peel(value) || leaves_group(shown, id)) return true;
  }
  return false;
}

void Fusion::fill_group(Group& group, const GrowingGroup& grown) const {
  const auto note_read = [&](ValueId value) {
    if (std::find(group.inputs.begin(), group.inputs.end(), value) == group.inputs.end()) group.inputs.push_back(value);
  };
  const std::uint32_t id = groups_.group_of(group.nodes.front());
  for (const NodeId member : group.nodes) {
    const Node& node = graph_.nodes[member];
    for (const ValueId input : node.inputs) {
      if (input == no_id || is_literal(graph_, node, input)) continue;
      if (groups_.group_making(facts_.peel(input)) != id) note_read(input);
    }
    for (const ValueId output : node.outputs) {
      // A call, or a kernel of several results, writes all of them, read or not.
      const bool writes_all = grown.kind == GroupKind::call || (member == grown.root && node.outputs.size() > 1);
      if (writes_all || leaves_group(output, id)) group.outputs.push_back(output);
    }
  }
  group.kind = grown.kind;
  group.root = grown.root;
  group.loop = grown.loop;
  group.row_axes = grown.row_axes;
  group.at_load = grown.at_load;
}

// Groups in the order of their depths, which is one in which they may run.
void Fusion::number_groups(FusedGraph& fused) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t id = 0; id < groups_.size(); ++id) {
    if (groups_.alive(id)) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return groups_.group(a).depth < groups_.group(b).depth; });
  fused.group_of.assign(graph_.nodes.size(), no_id);
  fused.groups.reserve(order.size());
  for (const std::uint32_t id : order) {
    Group group;
    group.nodes = groups_.group(id).nodes;
    std::sort(group.nodes.begin(), group.nodes.end());
    fill_group(group, groups_.group(id));
    for (const NodeId member : group.nodes) fused.group_of[member] = static_cast<std::uint32_t>(fused.groups.size());
    fused.groups.push_back(std::move(group));
  }
}

std::string Fusion::fused_reason(NodeId producer, NodeId consumer) const {
  const GrowingGroup& group = groups_.group(groups_.group_of(consumer));
  if (group.kind == GroupKind::rows) return "they walk the same rows";
  if (group.kind != GroupKind::structured) return "they walk the same loop";
  const std::string& kernel = graph_.nodes[group.root].kernel->name;
  if (consumer == group.root || (producer < group.root && consumer < group.root)) {
    return fmt::format("a prologue of {} takes it", kernel);
  }
  return fmt::format("the epilogue of {} takes it", kernel);
}

Decision Fusion::decision(const FusedGraph& fused, NodeId consumer, ValueId value) const {
  const ValueId shown = facts_.peel(value);
  ValueId base = shown;
  while (graph_.value(base).kind == ValueKind::result && facts_.is_view(graph_.value(base).producer)) {
    base = graph_.nodes[graph_.value(base).producer].inputs[0];
  }
  Decision made{.value = value, .producer = no_id, .consumer = consumer, .fused = false, .reason = {}, .bytes = {}};
  if (graph_.value(base).kind != ValueKind::result) return made;
  made.producer = graph_.value(base).producer;
  made.bytes = bytes_of(graph_.type(base)) * Dim(2);
  if (base == shown && fused.group_of[made.producer] == fused.group_of[consumer]) {
    made.fused = true;
    made.reason = fused_reason(made.producer, consumer);
  } else if (base != shown) {
    made.reason = fmt::format("'{}' is a view, read in place from memory", graph_.value(value).name);
  } else if (const auto found = refusals_.find(edge(consumer, made.producer)); found != refusals_.end()) {
    made.reason = found->second;
  } else if (!options_.enabled) {
    made.reason = "fusion is off";
  } else if (std::holds_alternative<Call>(graph_.nodes[consumer].kind)) {
    made.reason = "a function's stubs are emitted once, for all its calls";
  } else if (const Node& reader = graph_.nodes[consumer]; std::holds_alternative<Opaque>(reader.kind) && reader.kernel) {
    made.reason = fmt::format("{} is opaque: nothing fuses into it", reader.kernel->name);
  } else {
    made.reason = "its reader joined another stub";
  }
  return made;
}

void Fusion::decide(FusedGraph& fused) const {
  fused.decisions.reserve(graph_.nodes.size());
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    if (facts_.is_view(id)) continue;
    const Node& node = graph_.nodes[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool repeated = std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                      node.inputs[i]) != node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (node.inputs[i] == no_id || repeated) continue;
      Decision made = decision(fused, id, node.inputs[i]);
      if (made.producer != no_id) fused.decisions.push_back(std::move(made));
    }
  }
}

// `force` and `expect_fused`: the nodes that make these values are in one stub, or the user learns why not.
void Fusion::check_expectations(const FusedGraph& fused) {
  if (!options_.enabled || (graph_.directives.force.empty() && graph_.directives.expect.empty())) return;
  std::unordered_map<std::string, NodeId> makers;
  for (const Value& value : graph_.values) {
    if (value.kind == ValueKind::result) makers[value.name] = value.producer;
  }
  const auto check = [&](const FusionDirectives::Group& set, const char* what) {
    for (std::size_t i = 1; i < set.values.size(); ++i) {
      const auto first = makers.find(set.values[0]);
      const auto other = makers.find(set.values[i]);
      if (first == makers.end() || other == makers.end()) continue;
      const std::uint32_t a = fused.group_of[first->second];
      if (a != no_id && a == fused.group_of[other->second]) continue;
      Diagnostic& error = diagnostics_.error(
          set.where, fmt::format("{}: '{}' and '{}' are not computed by one stub", what, set.values[0], set.values[i]));
      for (const Decision& made : fused.decisions) {
        const bool between = (made.producer == first->second && made.consumer == other->second) ||
                             (made.producer == other->second && made.consumer == first->second);
        if (between) error.note(graph_.nodes[made.consumer].where, made.reason);
      }
      error.advise("`kgen explain` prints every decision and its reason");
    }
  };
  for (const auto& set : graph_.directives.expect) check(set, "expect_fused");
  for (const auto& set : graph_.directives.force) check(set, "fusion: force");
}

}  // namespace

FusedGraph fuse(Graph graph, const FuseOptions& options, Diagnostics& diagnostics) {
  FusedGraph fused = Fusion(graph, options, diagnostics).run();
  fused.graph = std::move(graph);
  return fused;
}

}  // namespace kgen
