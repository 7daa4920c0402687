#include "generator/pass/fuse/fusion_rules.hpp"

#include <algorithm>
#include <array>

#include "generator/pass/fuse/fuse_groups.hpp"

namespace kgen {
namespace {

constexpr std::array<std::string_view, 9> names = {"loop",     "rows",      "prologue",  "epilogue",  "joint_epilogue",
                                                   "siblings", "recompute", "row_state", "statistics"};

}  // namespace

std::vector<std::string> fusion_rule_names() { return {names.begin(), names.end()}; }

std::optional<FusionRule> fusion_rule_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<FusionRule>(found - names.begin());
}

std::string_view name_of(FusionRule rule) { return names[static_cast<std::size_t>(rule)]; }

FusionRule rule_that_made(const GrowingGroup& group) {
  if (group.kind == GroupKind::rows) return FusionRule::rows;
  if (group.kind != GroupKind::structured) return FusionRule::loop;
  const bool joint = std::any_of(group.epilogues.begin(), group.epilogues.end(),
                                 [](const Epilogue& each) { return each.results.size() > 1; });
  return joint ? FusionRule::joint_epilogue : FusionRule::epilogue;
}

}  // namespace kgen
