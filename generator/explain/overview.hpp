// `kgen explain` without a value's name: a plan on a page or two.
#pragma once

#include <string>

#include "generator/model/plan.hpp"

namespace kgen {

// Of the graph and of each function: its stubs, each once, in the order in which they run first, with what they fuse,
// the bytes of memory traffic that this saves in one run, and why they end where they do; then the merges that were
// refused, by reason. Bytes are those of one call of the graph or function.
std::string overview(const Plan& plan);

}  // namespace kgen
