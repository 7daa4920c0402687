#include "generator/pass/plan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "generator/pass/fuse.hpp"
#include "generator/pass/lower.hpp"

namespace kgen {
namespace {

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
    unfused.fused = fuse(plan.fused.graph, {.enabled = false});
    unfused.stub_of = lower(unfused.fused, ops_, prefix, stubs_);
    for (const Group& group : unfused.fused.groups) {
      unfused.arguments.push_back(stub_arguments(unfused.fused.graph, group));
    }
    unfused.use_of.assign(plan.fused.groups.size(), no_id);
    const FuseFacts facts(plan.fused.graph);
    for (const auto* steps : {&plan.load_steps, &plan.steps}) {
      for (const Step& step : *steps) {
        if (step.stub == no_id) continue;
        unfused.use_of[step.group] = static_cast<std::uint32_t>(check_.uses.size());
        check_.uses.push_back({unique_name(step.name), step.name, step.stub, function, step.group, step.arguments,
                               held_values(facts, ops_, plan.fused.groups[step.group])});
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
