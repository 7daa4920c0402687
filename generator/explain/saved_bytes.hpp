// What a stub saves, as explanations state it.
#pragma once

#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

// Memory traffic that never happens, in bytes: of each value that the stub does not write, once, however many read it
// there. `decisions`: those whose consumer is in the group.
Dim saved_bytes(const Group& group, const std::vector<const Decision*>& decisions, const Graph& graph);

}  // namespace kgen
