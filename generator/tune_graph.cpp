#include "generator/tune_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "generator/base/ensure.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

using Choices = std::vector<TuningRule::Choice>;

// "TileM: 48, TileN: 128"
std::string parameters_text(const Choices& choices) {
  std::string text;
  for (const TuningRule::Choice& each : choices)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", each.parameter, each.value);
  return text;
}

// Every combination of the values that the tuned ones may have.
std::vector<Choices> combinations(const std::vector<const KernelParameter*>& parameters) {
  std::vector<Choices> made = {{}};
  for (const KernelParameter* parameter : parameters) {
    std::vector<Choices> longer;
    for (const Choices& begun : made) {
      for (const std::int64_t value : parameter->values) {
        longer.push_back(begun);
        longer.back().push_back({parameter->name, value, {}});
      }
    }
    made = std::move(longer);
  }
  return made;
}

// The names of an operator's shape patterns, in order, each once.
std::vector<std::string> size_names(const OpSpec& op) {
  std::vector<std::string> names;
  for (const OperandSpec& operand : op.operands) {
    if (!operand.pattern) continue;
    for (const PatternAxis& axis : *operand.pattern) {
      if (!axis.name.empty() && std::find(names.begin(), names.end(), axis.name) == names.end())
        names.push_back(axis.name);
    }
  }
  return names;
}

// "M <= 8192 && N == 512 && T == f32 && target == cpu": what the node is, and all whose symbolic sizes are no greater.
std::string condition_at(const NodeScope& at) {
  std::vector<std::string> facts;
  for (const std::string& name : size_names(*at.node.op)) {
    const std::optional<Dim> size = size_named(at, name);
    if (size && size->is_constant()) {
      facts.push_back(fmt::format("{} == {}", name, size->constant()));
    } else if (size) {
      facts.push_back(fmt::format("{} <= {}", name, size->range(at.ranges).high));
    }
  }
  for (const auto& [variable, dtypes] : at.node.op->types) {
    if (const auto dtype = dtype_named(at, variable)) facts.push_back(fmt::format("{} == {}", variable, info(*dtype).name));
  }
  facts.push_back(at.graph.architecture == Architecture::none
                      ? fmt::format("target == {}", name_of(at.graph.target))
                      : fmt::format("architecture == {}", name_of(at.graph.architecture)));
  return fmt::format("{}", fmt::join(facts, " && "));
}

// Calls of the plan that one rule would speak of.
struct Found {
  TunedCall call;
  std::set<std::string> tuned;  // the names of the parameters to try
};

class CallFinder {
 public:
  explicit CallFinder(const Plan& plan) {
    for (const FunctionPlan& function : plan.functions) visit(function);
    visit(plan.main);
  }

  std::vector<Found> found;
  std::map<std::string, std::vector<const KernelParameter*>> tuned;  // by kernel: all that any of its calls has to try

 private:
  void visit(const FunctionPlan& function) {
    const FuseFacts facts(function.fused.graph);
    for (const Step& step : function.steps) {
      const Group& group = function.fused.groups[step.group];
      if (group.kind == GroupKind::structured) visit(facts.scope(function.fused.graph.nodes[group.root]), step.name);
    }
  }

  void visit(const NodeScope& at, const std::string& step) {
    const KernelSignature& kernel = *at.node.kernel;
    std::set<std::string> names;
    for (const KernelParameter& each : kernel.parameters) {
      if (!each.tuned || (!each.tuned_when.empty() && prove(at, each.tuned_when) != Proof::always)) continue;
      names.insert(each.name);
      std::vector<const KernelParameter*>& known = tuned[kernel.name];
      if (std::find(known.begin(), known.end(), &each) == known.end()) known.push_back(&each);
    }
    if (names.empty()) return;
    std::string when = condition_at(at);
    const auto [place, is_new] = index_.try_emplace({kernel.name, when}, found.size());
    if (is_new) found.push_back({{kernel.name, std::move(when), {}}, std::move(names)});
    found[place->second].call.steps.push_back(step);
  }

  std::map<std::pair<std::string, std::string>, std::size_t> index_;
};

// Of those choices, what a call has to try.
Choices choices_for(const Found& found, Choices choices) {
  std::erase_if(choices, [&](const TuningRule::Choice& each) { return !found.tuned.contains(each.parameter); });
  return choices;
}

}  // namespace

std::optional<TuningPlans> plan_tuning(const PipelineOptions& options, Session& session) {
  std::optional<Plan> planned = make_plan(options, session);
  if (!planned) return std::nullopt;
  const std::string graph = planned->main.fused.graph.name;
  const CallFinder calls(*planned);
  if (calls.found.empty()) {
    session.diagnostics
        .error({}, fmt::format("no kernel that '{}' calls has a parameter to try on {}", graph, name_of(options.target)))
        .advise("a kernel says so by KGEN_TUNED; kgen explain --all names the kernels");
    return std::nullopt;
  }
  TuningPlans made;
  for (const Found& each : calls.found) made.project.calls.push_back(each.call);
  const auto add = [&](Plan plan, std::vector<std::string> parameters) {
    plan.main.fused.graph.name = fmt::format("{}_candidate_{}", graph, made.plans.size());
    made.project.candidates.push_back({plan.main.fused.graph.name, std::move(parameters)});
    made.plans.push_back(std::move(plan));
  };
  add(std::move(*planned), std::vector<std::string>(calls.found.size()));

  std::map<std::string, std::vector<Choices>> tried;
  std::size_t most = 0;
  for (const auto& [kernel, parameters] : calls.tuned) {
    tried[kernel] = combinations(parameters);
    most = std::max(most, tried[kernel].size());
  }
  for (std::size_t number = 0; number < most; ++number) {
    PipelineOptions with = options;
    for (const auto& [kernel, choices] : tried) {
      if (number < choices.size()) with.tuning.push_back({kernel, {}, choices[number], {}});
    }
    std::vector<std::string> parameters;
    for (const Found& each : calls.found) {
      const std::vector<Choices>& choices = tried[each.call.kernel];
      parameters.push_back(number < choices.size() ? parameters_text(choices_for(each, choices[number])) : "");
    }
    std::optional<Plan> plan = make_plan(with, made.sessions.emplace_back());
    ensure(plan.has_value(), "a rule of tuning made a plan fail");
    add(std::move(*plan), std::move(parameters));
  }
  return made;
}

}  // namespace kgen
