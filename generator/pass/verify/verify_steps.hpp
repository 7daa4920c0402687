// The walk over the steps of a placed graph, for one binding of its dims. Part of verify.
#pragma once

#include <string>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

// What verification looks up. Placements must be well formed: see verify_placements in verify.cpp.
struct PlacedGraph {
  const FunctionPlan& plan;
  const std::vector<FunctionPlan>& functions;
  std::vector<ValueId> roots;           // by value: past views and parts
  std::vector<std::uint32_t> types;     // by value: equal for equal types
  std::vector<ValueId> values_of_type;  // by type: a value that has it

  const Graph& graph() const { return plan.fused.graph; }
  const Placement& placement(ValueId value) const { return plan.placements[value]; }
  const std::string& name(ValueId value) const { return graph().value(value).name; }
  // The destination node that makes `value`, or null.
  const Node* destination(ValueId value) const;
};

// Whether the group may write `output` where it reads `input`: the rule "in place". On refusal, `why` says what is
// wrong.
bool may_be_in_place(const PlacedGraph& placed, const Group& group, ValueId input, ValueId output, std::string& why);

// What goes wrong, in words; empty where nothing does. At most a few problems are found.
std::vector<std::string> walk_steps(const PlacedGraph& placed, const DimBindings& bindings);

}  // namespace kgen
