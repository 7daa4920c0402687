#include "generator/emit/load_phase.hpp"

#include <algorithm>
#include <string_view>

#include "generator/emit/tables.hpp"

namespace kgen {
namespace {

bool differs_by_call(const ConstantData& constant) {
  return std::string_view(constant.key).find("{index") != std::string_view::npos;
}

// Finds the value whose memory another is a view or a part of.
ValueId root_of(const FunctionPlan& plan, ValueId value) {
  while (plan.placements[value].base != no_id) value = plan.placements[value].base;
  return value;
}

// The roots of what the groups of load steps read and write.
struct StepRoots {
  std::vector<ValueId> inputs, outputs;
};

std::vector<StepRoots> roots_of(const FunctionPlan& plan) {
  std::vector<StepRoots> roots(plan.load_steps.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Group& group = plan.fused.groups[plan.load_steps[i].group];
    for (const ValueId input : group.inputs) roots[i].inputs.push_back(root_of(plan, input));
    for (const ValueId output : group.outputs) roots[i].outputs.push_back(root_of(plan, output));
  }
  return roots;
}

// By ValueId: a root whose content depends on the call of the function.
std::vector<bool> differing_roots(const FunctionPlan& plan, const std::vector<StepRoots>& steps) {
  std::vector<bool> differs(plan.placements.size(), false);
  for (const ConstantData& constant : plan.fused.graph.constants) differs[constant.value] = differs_by_call(constant);
  for (const StepRoots& step : steps) {
    const bool any = std::any_of(step.inputs.begin(), step.inputs.end(), [&](ValueId root) { return differs[root]; });
    for (const ValueId output : step.outputs) differs[output] = differs[output] || any;
  }
  return differs;
}

}  // namespace

LoadPhase load_phase(const FunctionPlan& plan) {
  LoadPhase phase;
  const std::vector<bool> in_load = touched_values(plan, plan.load_steps);
  const std::vector<bool> in_calls = touched_values(plan, plan.steps);
  for (const ConstantData& constant : plan.fused.graph.constants) {
    phase.load_only.push_back(in_load[constant.value] && !in_calls[constant.value]);
  }
  const std::vector<StepRoots> steps = roots_of(plan);
  const std::vector<bool> differs = differing_roots(plan, steps);
  for (const ValueId value : plan.persistent) phase.shared.push_back(!differs[value]);

  // From the last on: a step is done once where each call needs nothing of what it makes but what is kept.
  phase.once.assign(steps.size(), false);
  std::vector<bool> needed(plan.placements.size(), false);  // by root: a step of each call reads it from the arena
  const auto is_kept = [&](ValueId root) { return plan.placements[root].kind == Placement::Kind::persistent; };
  for (std::size_t i = steps.size(); i-- > 0;) {
    phase.once[i] = std::all_of(steps[i].outputs.begin(), steps[i].outputs.end(),
                                [&](ValueId root) { return !differs[root] && (is_kept(root) || !needed[root]); });
    for (const ValueId root : steps[i].inputs) needed[root] = needed[root] || !phase.once[i];
  }
  return phase;
}

std::vector<Touched> touched_by(const FunctionPlan& plan, const std::vector<Step>& steps) {
  std::vector<Touched> touched(plan.placements.size());
  for (std::uint32_t at = 0; at < steps.size(); ++at) {
    for (ValueId value : steps[at].arguments) {
      for (; value != no_id && touched[value].last != at; value = plan.placements[value].base) {
        touched[value].last = at;
        if (touched[value].first == no_id) touched[value].first = at;
      }
    }
  }
  return touched;
}

}  // namespace kgen
