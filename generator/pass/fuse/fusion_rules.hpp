// The kinds of fusion, by what joins the nodes. Each can be switched off, so that what it is worth can be measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgen {

struct GrowingGroup;

enum class FusionRule {
  loop,            // nodes walk the same loop
  rows,            // they walk the same rows
  prologue,        // a kernel's operand is computed as it is read
  epilogue,        // what reads a kernel's result rides in its epilogue
  joint_epilogue,  // the same of several results at a time
  siblings,        // one call of a kernel computes several nodes
  recompute,       // a value is computed again by each stub that needs it
  row_state,       // numbers of a row that a kernel's epilogues read are made by that kernel
  statistics,      // numbers of the rows that a kernel stores are made by that kernel
};

// In the order of the enumerators: "loop", "rows", ...
std::vector<std::string> fusion_rule_names();
// Nothing for any other name.
std::optional<FusionRule> fusion_rule_named(std::string_view name);
std::string_view name_of(FusionRule rule);

// By which rule an elementwise node or a reduction joined, where that made `group`.
FusionRule rule_that_made(const GrowingGroup& group);

}  // namespace kgen
