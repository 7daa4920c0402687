// Rules for the operator of role `cast`:
// - x cast to the dtype that it has    -> x
// - x cast from A to B and then to C   -> x cast from A to C, where B holds every value of A. So bf16 -> f32 -> bf16
//   disappears, and f32 -> bf16 -> f32, which rounds, stays.
//
// Integers that pass through a float on their way to an integer stay, unless C holds every value of A: what does not
// fit wraps around from an integer, but not from a float.
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

bool simplify_casts(Rewriting& rewriting, NodeId node);

}  // namespace kgen
