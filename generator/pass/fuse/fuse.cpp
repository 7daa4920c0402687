#include "generator/pass/fuse/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"
#include "generator/pass/fuse/fuse_join.hpp"
#include "generator/pass/fuse/fuse_orders.hpp"
#include "generator/pass/fuse/fuse_ports.hpp"
#include "generator/pass/fuse/fuse_reasons.hpp"
#include "generator/pass/fuse/fuse_row_state.hpp"
#include "generator/pass/fuse/fuse_siblings.hpp"
#include "generator/pass/fuse/fuse_statistics.hpp"
#include "generator/pass/fuse/recompute.hpp"
#include "generator/pass/graph/source_operand.hpp"

namespace kgen {
namespace {

constexpr const char* too_large = "the stub is large enough: more would not fit in registers";
// A stub that reads the one may be what the other waits for, or may come to need it.
constexpr const char* would_wait = "it would wait for another stub, and others read it already";
constexpr const char* would_be_cyclic = "another stub between them needs the one and feeds the other";
constexpr const char* would_be_late = "what it needs may be ready only after stubs that read the other's result";

bool is_off(const FuseOptions& options, FusionRule rule) {
  return std::find(options.without.begin(), options.without.end(), rule) != options.without.end();
}

// Of what no rule made it does not matter.
FusionRule rule_of(const Joint& joint) { return joint.group ? rule_that_made(*joint.group) : FusionRule::loop; }

class Fusion {
 public:
  // `alone`: numbers of the `force` groups that nothing else joins before they are whole.
  Fusion(const FuseFacts& facts, const FuseOptions& options, const std::vector<std::size_t>& alone)
      : graph_(facts.graph()),
        options_(options),
        facts_(facts),
        groups_(facts_),
        orders_(facts_, groups_, alone),
        siblings_(graph_) {}

  // The groups alone.
  FusedGraph run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (facts_.is_view(id)) {
        groups_.pass_view(id);
      } else {
        visit(id);
      }
    }
    if (options_.enabled) take_row_states();
    if (options_.enabled) take_statistics();
    FusedGraph fused;
    number_groups(fused);
    return fused;
  }

  // After a run.
  std::vector<std::size_t> forced_apart() const { return orders_.forced_apart(); }
  FusionReasons take_reasons() { return {std::move(refusals_), std::move(met_)}; }

 private:
  void visit(NodeId id);
  void visit_structured(NodeId id);
  std::vector<std::uint32_t> take_prologues(NodeId id, GrowingGroup& group);
  bool try_kernel_sibling(NodeId id, const std::vector<std::uint32_t>& makers, const GrowingGroup& own);
  void take_shared_prologues(std::uint32_t host);
  void take_row_states();
  void take_statistics();
  std::vector<std::uint32_t> producers(NodeId id) const;
  void join(NodeId id, const std::vector<std::uint32_t>& ids, GrowingGroup group);
  std::string why_not_ordered(NodeId id, const std::vector<std::uint32_t>& ids) const;
  bool try_join(NodeId id, const std::vector<std::uint32_t>& ids);
  bool try_producers(NodeId id);
  bool try_sibling(NodeId id, std::uint32_t sibling);
  bool try_siblings(NodeId id);
  bool feeds_source(NodeId id) const;
  bool saves_nothing_beside(NodeId id, std::uint32_t sibling) const;
  std::string why_apart(NodeId id, const std::vector<std::uint32_t>& ids, const Joint& joint, FusionRule rule,
                        bool forced) const;
  void refused(NodeId id, const std::vector<std::uint32_t>& ids, const std::string& why);
  void number_groups(FusedGraph& fused) const;
  void fill_group(Group& group, const GrowingGroup& grown) const;
  bool leaves_group(ValueId value, std::uint32_t id) const;

  const Graph& graph_;
  const FuseOptions& options_;
  const FuseFacts& facts_;
  FuseGroups groups_;
  FuseOrders orders_;
  Refusals refusals_;
  SiblingTable siblings_;
  MetSiblings met_;
};

// The groups that make operands of `id`, deepest first, each once.
std::vector<std::uint32_t> Fusion::producers(NodeId id) const {
  std::vector<std::uint32_t> ids;
  for (const ValueId input : graph_.nodes[id].inputs) {
    if (input == no_id) continue;
    const std::uint32_t maker = groups_.group_behind(input);
    if (maker != no_id && std::find(ids.begin(), ids.end(), maker) == ids.end()) ids.push_back(maker);
  }
  std::stable_sort(ids.begin(), ids.end(),
                   [&](auto a, auto b) { return groups_.group(a).depth > groups_.group(b).depth; });
  return ids;
}

void Fusion::refused(NodeId id, const std::vector<std::uint32_t>& ids, const std::string& why) {
  for (const ValueId input : graph_.nodes[id].inputs) {
    if (input == no_id) continue;
    const ValueId shown = facts_.unshaped(input);
    const std::uint32_t maker = groups_.group_making(shown);
    if (maker == no_id || std::find(ids.begin(), ids.end(), maker) == ids.end()) continue;
    refusals_.add(id, graph_.value(shown).producer, why);
  }
}

// Why `id` and `ids` do not become `joint`, a cycle apart; empty where they do. What is forced need not pay.
std::string Fusion::why_apart(NodeId id, const std::vector<std::uint32_t>& ids, const Joint& joint, FusionRule rule,
                              bool forced) const {
  if (joint.group && is_off(options_, rule)) {
    return fmt::format("the rule '{}' is switched off (--without)", name_of(rule));
  }
  if (std::string order = orders_.against(id, ids); !order.empty()) return order;
  if (joint.group && forced) return {};
  if (!joint.refusal.empty()) return joint.refusal;
  return groups_.within_limits(id, ids) ? "" : too_large;
}

bool Fusion::try_join(NodeId id, const std::vector<std::uint32_t>& ids) {
  Joint joint = with_producers(facts_, groups_, id, ids);
  std::string why = why_apart(id, ids, joint, rule_of(joint), orders_.forced(id, ids));
  if (why.empty() && !groups_.stays_acyclic(id, ids)) why = why_not_ordered(id, ids);
  if (!why.empty()) {
    refused(id, ids, why);
    return false;
  }
  join(id, ids, std::move(*joint.group));
  return true;
}

// Without groups to join the node starts one.
void Fusion::join(NodeId id, const std::vector<std::uint32_t>& ids, GrowingGroup group) {
  if (ids.empty()) {
    groups_.start(id, std::move(group));
  } else {
    groups_.join(id, ids, std::move(group));
  }
  orders_.joined(id, ids);
}

// A cycle takes a search to tell: what is forced is told for certain.
std::string Fusion::why_not_ordered(NodeId id, const std::vector<std::uint32_t>& ids) const {
  return orders_.forced(id, ids) && groups_.needs_outside(id, ids) ? would_be_cyclic : would_wait;
}

// All of them at once, else those that the graph forces, else the first that will.
bool Fusion::try_producers(NodeId id) {
  std::vector<std::uint32_t> ids = producers(id);
  if (ids.size() > 1 && try_join(id, ids)) return true;
  const auto forced_end =
      std::stable_partition(ids.begin(), ids.end(), [&](std::uint32_t maker) { return orders_.forced(id, {maker}); });
  const std::vector<std::uint32_t> forced(ids.begin(), forced_end);
  if (forced.size() > 1 && forced.size() < ids.size() && try_join(id, forced)) return true;
  if (forced.empty()) {
    for (const std::uint32_t other : orders_.forced_with(id)) {
      if (try_sibling(id, other)) return true;
    }
  }
  return std::any_of(ids.begin(), ids.end(), [&](std::uint32_t maker) { return try_join(id, {maker}); });
}

// The result's only reader, or its only readers, siblings, are a kernel whose operand takes a prologue.
bool Fusion::feeds_source(NodeId id) const {
  ValueId result = graph_.nodes[id].outputs[0];
  while (facts_.consumers(result).size() == 1 && !facts_.kept(result) &&
         facts_.reshapes_only(facts_.consumers(result)[0])) {
    result = graph_.nodes[facts_.consumers(result)[0]].outputs[0];
  }
  const auto readers = facts_.consumers(result);
  if (readers.empty() || facts_.kept(result)) return false;
  const Node& reader = graph_.nodes[readers[0]];
  if (!std::holds_alternative<Structured>(reader.kind)) return false;
  const auto operand = static_cast<std::size_t>(std::find(reader.inputs.begin(), reader.inputs.end(), result) -
                                                reader.inputs.begin());
  if (!is_source(reader, operand) || !why_in_memory(facts_.scope(reader), operand).empty()) return false;
  if (readers.size() == 1) return true;
  const KernelSignature& kernel = *reader.kernel;
  const auto own = several_operand(kernel);
  return own && operand != *own && readers.size() <= static_cast<std::size_t>(kernel.operands[*own].several) &&
         std::all_of(readers.begin() + 1, readers.end(),
                     [&](NodeId other) { return are_siblings(graph_, readers[0], other); });
}

// Where either of two loops would be a kernel's prologue: that saves a write and a read, one loop only a read.
bool Fusion::saves_nothing_beside(NodeId id, std::uint32_t sibling) const {
  const std::vector<NodeId>& members = groups_.group(sibling).nodes;
  return feeds_source(id) ||
         std::any_of(members.begin(), members.end(), [&](NodeId member) { return feeds_source(member); });
}

bool Fusion::try_sibling(NodeId id, std::uint32_t sibling) {
  Joint joint = with_sibling(facts_, groups_, id, sibling);
  if (joint.refusal.empty() && saves_nothing_beside(id, sibling)) joint.refusal = "one of them is a kernel's prologue";
  if (!why_apart(id, {sibling}, joint, rule_of(joint), orders_.forced(id, {sibling})).empty()) return false;
  if (!groups_.stays_acyclic(id, {sibling})) return false;
  join(id, {sibling}, std::move(*joint.group));
  return true;
}

// Rule: two loops that read the same memory become one.
bool Fusion::try_siblings(NodeId id) {
  for (const ValueId input : graph_.nodes[id].inputs) {
    if (input == no_id || is_literal(graph_, graph_.nodes[id], input)) continue;
    const std::uint32_t sibling = groups_.last_reader(input);
    if (sibling == no_id) continue;
    const bool makes_operand =
        std::any_of(graph_.nodes[id].inputs.begin(), graph_.nodes[id].inputs.end(),
                    [&](ValueId v) { return v != no_id && groups_.group_making(facts_.unshaped(v)) == sibling; });
    if (!makes_operand && try_sibling(id, sibling)) return true;
  }
  return false;
}

// Each operand that is a source takes the elementwise group that makes it for this kernel alone. What is asked of a
// join is asked of all of them together. Returns those groups; their prologues are in `group`.
std::vector<std::uint32_t> Fusion::take_prologues(NodeId id, GrowingGroup& group) {
  const Node& node = graph_.nodes[id];
  std::vector<std::uint32_t> ids;
  std::vector<ValueId> reads;  // of prologues
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_id) continue;
    const std::uint32_t maker = groups_.group_making(facts_.unshaped(node.inputs[i]));
    if (maker == no_id) continue;
    std::vector<std::uint32_t> with_maker = ids;
    with_maker.push_back(maker);
    Joint joint = with_prologue(facts_, groups_, {id}, i);
    std::string why = why_apart(id, with_maker, joint, FusionRule::prologue, orders_.forced(id, {maker}));
    if (why.empty()) {
      group.prologues.push_back(std::move(joint.group->prologues.front()));
      const std::vector<ValueId>& more = groups_.group(maker).reads;
      reads.insert(reads.end(), more.begin(), more.end());
      why = why_no_sizes(facts_, group, reads, id);
      if (!why.empty()) group.prologues.pop_back();
    }
    if (!why.empty()) {
      refused(id, {maker}, why);
      continue;
    }
    ids = std::move(with_maker);
  }
  for (const std::uint32_t early : groups_.moved_behind_readers(id, ids)) {
    refused(id, {early}, why_not_ordered(id, {early}));
    const auto place = std::find(ids.begin(), ids.end(), early);
    group.prologues.erase(group.prologues.begin() + (place - ids.begin()));
    ids.erase(place);
  }
  return ids;
}

// Rule: siblings become one call of their kernel, if neither loses a prologue or an epilogue by it.
bool Fusion::try_kernel_sibling(NodeId id, const std::vector<std::uint32_t>& makers, const GrowingGroup& own) {
  const NodeId sibling = siblings_.last(id);
  if (sibling == no_id) return false;
  const std::uint32_t host = groups_.group_of(sibling);
  std::vector<std::uint32_t> ids{host};
  ids.insert(ids.end(), makers.begin(), makers.end());
  Joint joint = with_kernel_sibling(facts_, groups_, orders_, id, host, own.prologues);
  std::string why = why_apart(id, ids, joint, FusionRule::siblings, orders_.forced(id, {host}));
  if (why.empty() && !groups_.stays_acyclic(id, ids)) why = would_be_late;
  met_[id] = {sibling, why};
  if (!why.empty()) return false;
  join(id, ids, std::move(*joint.group));
  take_shared_prologues(groups_.group_of(id));
  return true;
}

// Once all that read a shared operand are roots of one call, what makes it may be a prologue of that.
void Fusion::take_shared_prologues(std::uint32_t host) {
  const std::vector<NodeId> roots = groups_.group(host).roots;
  const Node& node = graph_.nodes[roots.back()];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::uint32_t maker = node.inputs[i] == no_id ? no_id : groups_.group_making(node.inputs[i]);
    if (maker == no_id || maker == host || i == several_operand(*node.kernel)) continue;
    Joint joint = with_prologue(facts_, groups_, roots, i);
    const std::string why =
        why_apart(roots.back(), {host, maker}, joint, FusionRule::prologue, orders_.forced(roots.back(), {maker}));
    if (why.empty()) {
      groups_.absorb(host, maker, std::move(joint.group->prologues.front()));
      orders_.joined(roots.back(), {host, maker});
      continue;
    }
    for (const NodeId root : roots) refusals_.replace(root, graph_.value(node.inputs[i]).producer, why);
  }
}

// Rule: a kernel makes numbers of rows for its epilogues itself, once all that read them ride in these.
void Fusion::take_row_states() {
  for (std::uint32_t id = 0; id < groups_.size(); ++id) {
    if (!groups_.alive(id) || groups_.group(id).kind != GroupKind::rows) continue;
    RowStateJoin joined = with_row_state(facts_, groups_, id);
    if (joined.host == no_id) continue;
    const NodeId reader = joined.reads.front().first;
    const std::vector<std::uint32_t> ids{joined.host, id};
    const bool can = joined.refusal.empty() || !joined.pays;
    const Joint joint{can ? std::optional(groups_.group(joined.host)) : std::nullopt, joined.refusal};
    const std::string why = why_apart(reader, ids, joint, FusionRule::row_state, orders_.forced(reader, {id}));
    for (const auto& [taker, maker] : joined.reads) {
      if (!why.empty()) refusals_.replace(taker, maker, why);
    }
    if (!why.empty()) continue;
    groups_.absorb(joined.host, id, std::move(joined.state));
    orders_.joined(reader, ids);
  }
}

// Rule: a kernel makes numbers of the rows that it stores itself, where nothing else is made of them on the way. Those
// that another kernel makes of them for its epilogues are better off there: rows that are few.
void Fusion::take_statistics() {
  for (std::uint32_t id = 0; id < groups_.size(); ++id) {
    if (!groups_.alive(id) || groups_.group(id).kind != GroupKind::rows) continue;
    StatisticsJoin joined = with_statistics(facts_, groups_, id);
    if (joined.host == no_id) continue;
    const NodeId maker = graph_.value(joined.statistics.of).producer;
    const std::vector<std::uint32_t> ids{joined.host, id};
    const bool can = joined.refusal.empty();
    const Joint joint{can ? std::optional(groups_.group(joined.host)) : std::nullopt, joined.refusal};
    for (const NodeId reader : joined.readers) {
      const std::string why =
          why_apart(reader, ids, joint, FusionRule::statistics, orders_.forced(reader, {joined.host}));
      if (!why.empty()) refusals_.replace(reader, maker, why);
    }
    const NodeId reader = joined.readers.front();
    if (!why_apart(reader, ids, joint, FusionRule::statistics, orders_.forced(reader, {joined.host})).empty()) continue;
    groups_.absorb(joined.host, id, std::move(joined.statistics));
    orders_.joined(reader, ids);
  }
}

void Fusion::visit_structured(NodeId id) {
  GrowingGroup group = alone(facts_, id);
  const std::vector<std::uint32_t> ids = take_prologues(id, group);
  if (!try_kernel_sibling(id, ids, group)) join(id, ids, std::move(group));
  siblings_.note(id);
}

void Fusion::visit(NodeId id) {
  const Node& node = graph_.nodes[id];
  const bool loops = std::holds_alternative<Elementwise>(node.kind) || std::holds_alternative<Reduction>(node.kind);
  if (options_.enabled && loops) {
    if (try_producers(id) || try_siblings(id)) return;
  } else if (options_.enabled && std::holds_alternative<Structured>(node.kind)) {
    return visit_structured(id);
  }
  join(id, {}, alone(facts_, id));
}

// Whether `value`, made in group `id`, is read by anything outside it.
bool Fusion::leaves_group(ValueId value, std::uint32_t id) const {
  if (facts_.kept(value)) return true;
  const std::vector<NodeId>& statistics = groups_.group(id).statistics.nodes;
  for (const NodeId reader : facts_.consumers(value)) {
    if (!facts_.is_view(reader)) {
      const bool reduces = std::binary_search(statistics.begin(), statistics.end(), reader);
      if (groups_.group_of(reader) != id || (reduces && value == groups_.group(id).statistics.of)) return true;
      continue;
    }
    const ValueId shown = graph_.nodes[reader].outputs[0];
    if (groups_.group_behind(shown) != id || leaves_group(shown, id)) return true;
  }
  return false;
}

void Fusion::fill_group(Group& group, const GrowingGroup& grown) const {
  const std::uint32_t id = groups_.group_of(group.nodes.front());
  group.inputs =
      read_from_memory(facts_, group.nodes, [&](ValueId value) { return groups_.group_behind(value) == id; });
  for (const NodeId member : group.nodes) {
    const Node& node = graph_.nodes[member];
    for (const ValueId output : node.outputs) {
      // A call, or a kernel of several results, writes all of them, read or not, but for what an epilogue takes.
      const auto number = result_number(graph_, grown.roots, output);
      const bool of_several = number && node.outputs.size() * grown.roots.size() > 1;
      const bool writes_all = grown.kind == GroupKind::call || of_several;
      const bool taken = number && epilogue_of(grown.epilogues, *number);
      if ((writes_all && !taken) || leaves_group(output, id)) group.outputs.push_back(output);
    }
  }
  group.kind = grown.kind;
  const std::vector<NodeId> roots = call_order(graph_, grown);
  if (!roots.empty()) {
    group.root = roots.front();
    group.siblings.assign(roots.begin() + 1, roots.end());
  }
  group.prologues = grown.prologues;
  for (Prologue& prologue : group.prologues) std::sort(prologue.nodes.begin(), prologue.nodes.end());
  group.epilogues = grown.epilogues;
  for (Epilogue& epilogue : group.epilogues) {
    std::sort(epilogue.nodes.begin(), epilogue.nodes.end());
    for (std::size_t& result : epilogue.results) {
      result = *result_number(graph_, roots, numbered_result(graph_, grown.roots, result));
    }
    std::sort(epilogue.results.begin(), epilogue.results.end());
  }
  group.row_state = grown.row_state;
  group.statistics = grown.statistics;
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

// Groups, and why nodes are in none with others.
FusedGraph find_groups(const FuseFacts& facts, const FuseOptions& options, FusionReasons& reasons) {
  Fusion fusion(facts, options, {});
  FusedGraph fused = fusion.run();
  reasons = fusion.take_reasons();
  const std::vector<std::size_t> apart = fusion.forced_apart();
  if (!options.enabled || apart.empty()) return fused;
  // Nodes join as early as they can. Some may so have joined what keeps them from those that they are forced with.
  Fusion again(facts, options, apart);
  FusedGraph other = again.run();
  if (again.forced_apart().size() >= apart.size()) return fused;
  reasons = again.take_reasons();
  return other;
}

}  // namespace

FusedGraph fuse(Graph graph, const FuseOptions& options) {
  const FuseFacts facts(graph);
  FusionReasons reasons;
  FusedGraph fused = find_groups(facts, options, reasons);
  Recomputed again;
  if (options.enabled && !is_off(options, FusionRule::recompute)) again = recompute(facts, fused);
  if (again.fused) {
    fused = std::move(*again.fused);
    fused.decisions = fuse_decisions(FuseFacts(fused.graph), fused, renumbered(reasons, again.new_id), true);
  } else {
    fused.decisions = fuse_decisions(facts, fused, reasons, options.enabled);
    fused.graph = std::move(graph);
  }
  fused.recomputations = std::move(again.recomputations);
  return fused;
}

}  // namespace kgen
