// What load does with the memory of a graph: when it needs which constant, and what all calls of a function share.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

struct LoadPhase {
  std::vector<bool> load_only;  // by constant: load reads it, and calls do not
  // Of a function: what follows from constants that all of its calls share is computed and kept once.
  std::vector<bool> once;    // by load step: it runs for all calls together
  std::vector<bool> shared;  // by persistent buffer: all calls have the same
};
LoadPhase load_phase(const FunctionPlan& plan);

// Which of the steps touches a value first, and which last; no_id: none does.
struct Touched {
  std::uint32_t first = no_id, last = no_id;
};
// By ValueId; what touches a view or a part touches the whole. Linear in what the steps name.
std::vector<Touched> touched_by(const FunctionPlan& plan, const std::vector<Step>& steps);

}  // namespace kgen
