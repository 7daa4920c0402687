// How much of what is wrong with a plan is told: a pass that breaks one node breaks many.
#pragma once

#include <cstddef>

namespace kgen {

inline constexpr std::size_t most_problems = 5;

}  // namespace kgen
