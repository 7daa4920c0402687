#include "generator/pass/verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "generator/pass/verify/verify_groups.hpp"
#include "generator/pass/verify/verify_nodes.hpp"
#include "generator/pass/verify/verify_samples.hpp"
#include "generator/pass/verify/verify_steps.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

bool same_view(const IndexMap& a, const IndexMap& b) {
  return a.form == b.form && a.axes == b.axes && a.shape == b.shape && a.axis == b.axis && a.begin == b.begin &&
         a.length == b.length && a.step == b.step;
}

// ---- what holds for all sizes ---------------------------------------------------------------------------------------

class PlacementVerifier {
 public:
  explicit PlacementVerifier(const FunctionPlan& plan) : plan_(plan), graph_(plan.fused.graph) {}

  std::vector<std::string> run() {
    if (plan_.placements.size() != graph_.values.size()) return {"not every value has a placement"};
    find_writers();
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      if (const std::string_view problem = problem_of(id); !problem.empty()) {
        problems_.push_back(fmt::format("'{}' {}", graph_.value(id).name, problem));
      }
    }
    verify_groups();
    verify_results();
    verify_steps();
    return std::move(problems_);
  }

 private:
  const Node* producer(ValueId id) const {
    const NodeId node = graph_.value(id).producer;
    return node == no_id ? nullptr : &graph_.nodes[node];
  }
  const IndexMap* view_of(ValueId id) const {
    const Node* node = producer(id);
    return node ? std::get_if<IndexMap>(&node->kind) : nullptr;
  }
  bool is_whole(ValueId id) const {
    const IndexMap* view = view_of(id);
    return view && writes_operands(*view);
  }

  // Of a destination's operands, the first that is written into it.
  std::size_t first_part(ValueId whole) const { return first_written(*view_of(whole)); }

  void find_writers();
  std::string_view problem_of(ValueId id) const;
  std::string_view problem_of_result(ValueId id) const;
  bool is_version_of_state(ValueId id) const;
  void verify_groups();
  void verify_results();
  void verify_steps();

  const FunctionPlan& plan_;
  const Graph& graph_;
  std::vector<std::string> problems_;
  std::vector<bool> written_, at_load_;  // by value: a group writes it; that group runs at load
  std::vector<ValueId> whole_of_;        // by value: the destination that it is a part of
};

void PlacementVerifier::find_writers() {
  written_.assign(graph_.values.size(), false);
  at_load_ = written_;
  whole_of_.assign(graph_.values.size(), no_id);
  for (const Group& group : plan_.fused.groups) {
    for (const ValueId output : group.outputs) {
      written_[output] = true;
      at_load_[output] = group.at_load;
    }
  }
  // A whole is made at load if a part of it is; parts stand before it.
  for (const Node& node : graph_.nodes) {
    const ValueId whole = node.outputs[0];
    if (!is_whole(whole)) continue;
    for (std::size_t i = first_part(whole); i < node.inputs.size(); ++i) {
      whole_of_[node.inputs[i]] = whole;
      if (at_load_[node.inputs[i]]) at_load_[whole] = true;
    }
  }
}

std::string_view PlacementVerifier::problem_of(ValueId id) const {
  const Value& value = graph_.value(id);
  const Placement& placement = plan_.placements[id];
  const auto at_home = [&](Kind kind) { return placement.kind == kind && placement.index == value.index; };
  switch (value.kind) {
    case ValueKind::input:
      return at_home(Kind::input) ? "" : "is an input, but does not live in its argument";
    case ValueKind::constant:
      return at_home(Kind::constant) ? "" : "is a constant, but does not live in its data";
    case ValueKind::state:
      return at_home(Kind::state) ? "" : "is a state, but does not live in its buffer";
    case ValueKind::result:
      return problem_of_result(id);
  }
  return "";
}

std::string_view PlacementVerifier::problem_of_result(ValueId id) const {
  const Placement& placement = plan_.placements[id];
  switch (placement.kind) {
    case Kind::registers:
      return written_[id] || is_whole(id) ? "is written, but has no memory" : "";
    case Kind::input:
    case Kind::constant:
      return "is a result, but lives in memory that nothing may write";
    case Kind::view_of: {
      const IndexMap* view = view_of(id);
      if (!view || is_whole(id)) return "is no view, but lives in another value";
      if (placement.base != producer(id)->inputs[0]) return "shows another value than its node says";
      if (!same_view(placement.view, *view)) return "shows other elements than its node says";
      return plan_.placements[placement.base].kind == Kind::registers ? "shows a value that is not in memory" : "";
    }
    case Kind::part_of:
      if (!written_[id] && !is_whole(id)) return "is a part, but nothing writes it";
      return placement.base != no_id && placement.base == whole_of_[id] ? "" : "lives in a value that it is no part of";
    case Kind::output:
      if (placement.index >= graph_.outputs.size() || graph_.outputs[placement.index] != id)
        return "lives in another output";
      break;
    case Kind::state:
      if (!is_version_of_state(id)) return "lives in a state that it is no version of";
      break;
    case Kind::persistent:
      if (placement.index >= plan_.persistent.size() || plan_.persistent[placement.index] != id) {
        return "lives in another persistent buffer";
      }
      if (!at_load_[id]) return "is kept from load, but is not computed there";
      break;
    case Kind::arena:
      if (placement.index >= (at_load_[id] ? plan_.load_slots : plan_.slots).size())
        return "lives in a slot that does not exist";
      break;
  }
  if (at_load_[id] && (placement.kind == Kind::output || placement.kind == Kind::state)) {
    return "is computed at load, but lives in memory of a call";
  }
  return written_[id] || is_whole(id) ? "" : "has memory, but nothing writes it";
}

bool PlacementVerifier::is_version_of_state(ValueId id) const {
  const std::uint32_t index = plan_.placements[id].index;
  if (index >= graph_.states.size()) return false;
  if (graph_.states[index].next == id) return true;
  const ValueId operand = producer(id) ? updated_operand(*producer(id), graph_.value(id).index) : no_id;
  if (operand == no_id) return false;
  const Placement& buffer = plan_.placements[operand];
  return buffer.kind == Kind::state && buffer.index == index;
}

void PlacementVerifier::verify_groups() {
  for (const Group& group : plan_.fused.groups) {
    for (const ValueId input : group.inputs) {
      if (plan_.placements[input].kind != Kind::registers) continue;
      problems_.push_back(fmt::format("'{}' is read from memory, but is in registers", graph_.value(input).name));
    }
  }
  for (const Node& node : graph_.nodes) {
    const ValueId whole = node.outputs[0];
    if (!is_whole(whole)) continue;
    for (std::size_t i = first_part(whole); i < node.inputs.size(); ++i) {
      const Placement& part = plan_.placements[node.inputs[i]];
      if (part.kind == Kind::part_of && part.base == whole) continue;
      problems_.push_back(
          fmt::format("'{}' is not written into '{}'", graph_.value(node.inputs[i]).name, graph_.value(whole).name));
    }
    const bool update = view_of(whole)->form == ViewRule::Form::update;
    const Placement& buffer = plan_.placements[node.inputs[0]];
    const Placement& result = plan_.placements[whole];
    if (update && (buffer.kind != Kind::state || result.kind != Kind::state || buffer.index != result.index)) {
      problems_.push_back(
          fmt::format("the update '{}' does not live in the state that it updates", graph_.value(whole).name));
    }
  }
}

void PlacementVerifier::verify_results() {
  for (std::uint32_t i = 0; i < graph_.outputs.size(); ++i) {
    const Placement& placement = plan_.placements[graph_.outputs[i]];
    if (placement.kind == Kind::output && placement.index == i) continue;
    problems_.push_back(
        fmt::format("the output '{}' does not live in its argument", graph_.value(graph_.outputs[i]).name));
  }
  for (const StateData& state : graph_.states) {
    if (state.next == no_id) continue;
    const Placement& placement = plan_.placements[state.next];
    if (placement.kind == Kind::state && placement.index == graph_.value(state.value).index) continue;
    problems_.push_back(fmt::format("'{}', the next value of '{}', does not live in its buffer",
                                    graph_.value(state.next).name, graph_.value(state.value).name));
  }
}

void PlacementVerifier::verify_steps() {
  std::vector<int> runs(plan_.fused.groups.size(), 0);
  for (const std::vector<Step>* steps : {&plan_.load_steps, &plan_.steps}) {
    for (const Step& step : *steps) {
      if (step.group >= runs.size()) {
        problems_.push_back("a step runs a group that does not exist");
        continue;
      }
      ++runs[step.group];
      const Group& group = plan_.fused.groups[step.group];
      if (group.at_load == (steps == &plan_.load_steps)) continue;
      problems_.push_back(
          fmt::format("the group of '{}' runs in the wrong phase", graph_.value(group.outputs[0]).name));
    }
  }
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    if (runs[i] == 1) continue;
    problems_.push_back(
        fmt::format("the group of '{}' runs {} times", graph_.value(plan_.fused.groups[i].outputs[0]).name, runs[i]));
  }
}

// ---- what is tried for some sizes -----------------------------------------------------------------------------------

PlacedGraph look_up(const FunctionPlan& plan, const std::vector<FunctionPlan>& functions) {
  PlacedGraph placed{plan, functions, {}, {}, {}};
  std::unordered_map<std::string, std::uint32_t> type_ids;
  const Graph& graph = plan.fused.graph;
  // A whole stands after its parts, a view after what it shows.
  placed.roots.resize(graph.values.size());
  std::iota(placed.roots.begin(), placed.roots.end(), 0);
  const auto inherit = [&](ValueId id, Kind kind) {
    const Placement& placement = plan.placements[id];
    if (placement.kind == kind) placed.roots[id] = placed.roots[placement.base];
  };
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    for (const ValueId output : node->outputs) inherit(output, Kind::part_of);
  }
  for (const Node& node : graph.nodes) inherit(node.outputs[0], Kind::view_of);
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const auto [type, is_new] =
        type_ids.try_emplace(to_text(graph.type(id)), static_cast<std::uint32_t>(placed.values_of_type.size()));
    if (is_new) placed.values_of_type.push_back(id);
    placed.types.push_back(type->second);
  }
  return placed;
}

}  // namespace

void verify(const FunctionPlan& plan, const std::vector<FunctionPlan>& functions, Diagnostics& diagnostics) {
  const Graph& graph = plan.fused.graph;
  if (report_problems(graph, group_problems(plan.fused), {}, diagnostics)) return;
  if (report_problems(graph, PlacementVerifier(plan).run(), {}, diagnostics)) return;
  const PlacedGraph placed = look_up(plan, functions);
  verify_samples(
      graph, [&](const DimBindings& bindings) { return walk_steps(placed, bindings); }, diagnostics);
}

}  // namespace kgen
