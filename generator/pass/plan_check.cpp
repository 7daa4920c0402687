#include "generator/pass/plan_check.hpp"

#include <fmt/format.h>

#include "generator/pass/fuse.hpp"
#include "generator/pass/lower.hpp"

namespace kgen {
namespace {

UnfusedGraph plan_unfused(const Graph& graph, const std::string& prefix, const OpSet& ops, StubTable& stubs) {
  UnfusedGraph unfused;
  unfused.fused = fuse(graph, {.enabled = false});
  unfused.stub_of = lower(unfused.fused, ops, prefix, stubs);
  return unfused;
}

void add_uses(const FunctionPlan& plan, std::uint32_t function, const OpSet& ops, std::vector<StubUse>& uses) {
  const FuseFacts facts(plan.fused.graph);
  for (const auto* steps : {&plan.load_steps, &plan.steps}) {
    for (const Step& step : *steps) {
      if (step.stub == no_id || !uses[step.stub].arguments.empty()) continue;
      uses[step.stub] = {function, step.group, step.arguments, held_values(facts, ops, plan.fused.groups[step.group])};
    }
  }
}

}  // namespace

CheckPlan plan_check(const Plan& plan, const OpSet& ops) {
  CheckPlan check;
  StubTable stubs;
  check.uses.resize(plan.stubs.size());
  for (std::uint32_t i = 0; i < plan.functions.size(); ++i) {
    const Graph& graph = plan.functions[i].fused.graph;
    const std::string prefix = fmt::format("reference_{}_", graph.name);
    check.functions.push_back(plan_unfused(graph, prefix, ops, stubs));
    add_uses(plan.functions[i], i, ops, check.uses);
  }
  check.main = plan_unfused(plan.main.fused.graph, "reference_", ops, stubs);
  add_uses(plan.main, no_id, ops, check.uses);
  check.stubs = stubs.take();
  return check;
}

}  // namespace kgen
