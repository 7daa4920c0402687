#include "generator/pass/lower/plan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <utility>

#include "generator/pass/fuse/fuse.hpp"
#include "generator/pass/lower/lower.hpp"

namespace kgen {
namespace {

bool is_rounded_away(const TensorType& type) { return info(type.dtype).floating && info(type.dtype).bits < 32; }

// A step function of its operands: the least change of one may move the result by any amount.
bool is_step(const Graph& graph, const Node& node) {
  const auto floating = [&](ValueId value) { return info(graph.type(value).dtype).floating; };
  if (!std::all_of(node.outputs.begin(), node.outputs.end(), floating)) return true;
  const std::vector<Expression::Step>& steps = node.op->definition.steps;
  return std::any_of(steps.begin(), steps.end(), [](const Expression::Step& step) {
    using enum Expression::Operation;
    constexpr std::array step_functions{floor,         ceil,        round,       trunc,      fmod,
                                        equal,         not_equal,   less,        less_equal, greater,
                                        greater_equal, logical_not, logical_and, logical_or};
    return std::find(step_functions.begin(), step_functions.end(), step.operation) != step_functions.end();
  });
}

// The value whose elements a view shows, or itself.
ValueId without_views(const Graph& graph, ValueId value) {
  while (graph.value(value).kind == ValueKind::result) {
    const Node& node = graph.nodes[graph.value(value).producer];
    if (!std::holds_alternative<IndexMap>(node.kind) || node.inputs.size() != 1) break;
    value = node.inputs[0];
  }
  return value;
}

// What a stub makes by a step function of values that it has not rounded and its reference has, and what follows from
// that: both may be right where they differ.
std::vector<ValueId> stepped_values(const Graph& graph, const Group& group) {
  std::vector<ValueId> stepped;
  if (graph.numerics == Numerics::match_unfused) return stepped;
  const auto made_here = [&](ValueId value) {
    return graph.value(value).kind == ValueKind::result &&
           std::binary_search(group.nodes.begin(), group.nodes.end(), graph.value(value).producer);
  };
  const auto is_stepped = [&](ValueId value) { return std::binary_search(stepped.begin(), stepped.end(), value); };
  for (const NodeId id : group.nodes) {
    const Node& node = graph.nodes[id];
    bool follows = false, unrounded = false;
    for (const ValueId input : node.inputs) {
      if (input == no_id) continue;
      const ValueId source = without_views(graph, input);
      follows = follows || is_stepped(source);
      unrounded = unrounded || (made_here(source) && is_rounded_away(graph.type(source)));
    }
    if (!follows && !(unrounded && is_step(graph, node))) continue;
    for (const ValueId output : node.outputs) {
      stepped.insert(std::upper_bound(stepped.begin(), stepped.end(), output), output);
    }
  }
  return stepped;
}

class CheckPlanning {
 public:
  CheckPlanning(const Plan& plan, const OpSet& ops) : plan_(plan), ops_(ops) {}

  CheckPlan run() {
    for (std::uint32_t i = 0; i < plan_.functions.size(); ++i) {
      const FunctionPlan& function = plan_.functions[i];
      check_.functions.push_back(add_graph(function, i, fmt::format("reference_{}_", function.fused.graph.name)));
    }
    check_.main = add_graph(plan_.main, no_id, "reference_");
    check_.stubs = stubs_.take();
    return std::move(check_);
  }

 private:
  UnfusedGraph add_graph(const FunctionPlan& plan, std::uint32_t function, const std::string& prefix) {
    UnfusedGraph unfused;
    Graph graph = plan.fused.graph;
    for (Value& value : graph.values) value.again_of = no_id;  // each is in memory here
    unfused.fused = fuse(std::move(graph), {.enabled = false});
    unfused.stub_of = lower(unfused.fused, ops_, prefix, stubs_);
    for (const Group& group : unfused.fused.groups) {
      unfused.arguments.push_back(stub_arguments(unfused.fused.graph, group));
    }
    unfused.use_of.assign(plan.fused.groups.size(), no_id);
    const FuseFacts facts(plan.fused.graph);
    for (const auto* steps : {&plan.load_steps, &plan.steps}) {
      for (const Step& step : *steps) {
        if (step.stub == no_id) continue;
        const Group& group = plan.fused.groups[step.group];
        unfused.use_of[step.group] = static_cast<std::uint32_t>(check_.uses.size());
        check_.uses.push_back({unique_name(step.name), step.name, step.stub, function, step.group, step.arguments,
                               held_values(facts, ops_, group), stepped_values(plan.fused.graph, group)});
      }
    }
    return unfused;
  }

  // "stub_layer_h" for "layer.h".
  std::string unique_name(const std::string& step) {
    std::string wish = "stub_" + step;
    std::replace(wish.begin(), wish.end(), '.', '_');
    std::string name = wish;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wish, i);
    return name;
  }

  const Plan& plan_;
  const OpSet& ops_;
  CheckPlan check_;
  StubTable stubs_;
  std::unordered_set<std::string> names_;
};

}  // namespace

CheckPlan plan_check(const Plan& plan, const OpSet& ops) {
  return CheckPlanning(plan, ops).run();
}

}  // namespace kgen
