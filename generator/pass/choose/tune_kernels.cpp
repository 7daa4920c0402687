#include "generator/pass/choose/tune_kernels.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/graph/load_values.hpp"

namespace kgen {
namespace {

std::vector<const TuningRule::Choice*> tuning_at(const NodeScope& at, const KernelSignature& kernel, const OpSet& ops) {
  std::map<std::string_view, const TuningRule::Choice*> last;
  for (const TuningRule& rule : ops.tuning) {
    if (rule.kernel != kernel.name || (!rule.when.empty() && prove(at, rule.when) != Proof::always)) continue;
    for (const TuningRule::Choice& each : rule.choices) last[each.parameter] = &each;
  }
  std::vector<const TuningRule::Choice*> choices;
  for (const auto& [parameter, choice] : last) choices.push_back(choice);
  return choices;
}

}  // namespace

void tune_kernels(Graph& graph, const OpSet& ops, const DimRanges& ranges) {
  const auto has_choices = [](const Node& node) { return node.kernel && !node.kernel->parameters.empty(); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), has_choices)) return;
  const LoadValues constants(graph);
  for (Node& node : graph.nodes) {
    if (has_choices(node)) node.tuning = tuning_at(scope_at(graph, node, ranges, constants), *node.kernel, ops);
  }
}

}  // namespace kgen
