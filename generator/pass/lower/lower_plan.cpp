#include "generator/pass/lower/lower_plan.hpp"

#include <fmt/format.h>

#include "generator/pass/lower/lower_names.hpp"

namespace kgen {

FunctionPlan lower_plan(FunctionPlan plan, const std::string& function, const OpSet& ops, StubTable& stubs) {
  const std::string stub_prefix = function.empty() ? "stub_" : fmt::format("stub_{}_", function);
  const std::string name_prefix = function.empty() ? "" : function + ".";
  const Graph& graph = plan.fused.graph;
  const FuseFacts facts(graph);
  const std::vector<std::uint32_t> stub_of = lower(facts, plan.fused.groups, ops, stub_prefix, stubs);
  for (auto* steps : {&plan.load_steps, &plan.steps}) {
    for (Step& step : *steps) {
      if (stub_of[step.group] == no_id) continue;
      const Group& group = plan.fused.groups[step.group];
      step.stub = stub_of[step.group];
      step.name = name_prefix + result_name(facts, group);
      if (step.name == graph.name) step.name += "." + step.name;  // a whole run goes by the graph's name
      step.arguments = stub_arguments(graph, group);
    }
  }
  return plan;
}

}  // namespace kgen
