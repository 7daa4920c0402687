#include "generator/emit/target.hpp"

#include <algorithm>

namespace kgen {

const std::vector<const Target*>& all_targets() {
  static const std::vector<const Target*> targets = {&cpu_target, &cuda_target, &hip_target};
  return targets;
}

const Target* find_target(std::string_view name) {
  const auto found = std::find_if(all_targets().begin(), all_targets().end(),
                                  [&](const Target* target) { return target->name == name; });
  return found == all_targets().end() ? nullptr : *found;
}

}  // namespace kgen
