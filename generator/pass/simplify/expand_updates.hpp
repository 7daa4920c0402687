// Rule: an update of what lies in no state's buffer -> the concatenation of what it keeps and what it brings:
//
//   y = update(x, part, begin)   ->   before = x[0, begin); after = x[end, extent); y = concat(before, part, after)
//
// for the result has memory of its own, and x stays as it is for its other readers. What is known to be empty is left
// out; so an update of a whole axis is the concatenation of one part, which simplify_views makes its part.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

// One sweep. Error: no operator makes the slices and concatenations that are needed.
void expand_updates(Rewriting& rewriting, Diagnostics& diagnostics);

}  // namespace kgen
