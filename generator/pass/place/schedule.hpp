// Orders groups: each after those whose results it reads and, where a buffer of a state is overwritten, after those
// that read the version before. Of the groups that may come next, the one that stands first in the graph does: the
// order is the file's wherever it can be, which also keeps values alive for a short time only.
#pragma once

#include "generator/model/plan.hpp"

namespace kgen {

// Takes O(n log n) in the number of groups and what they read.
FusedGraph schedule(FusedGraph fused);

}  // namespace kgen
