// What work costs beside memory traffic. Prices are in eighths of a byte: what a core, or a GPU, moves in the time of
// eight vectorised additions, an element each.
#pragma once

#include <cstdint>

#include "generator/model/graph.hpp"

namespace kgen {

inline constexpr std::int64_t price_of_bit = 1, price_of_byte = 8 * price_of_bit;

// Of one element, by the operator's definition. Of an operator that has none, as much as of the most expensive
// functions.
std::int64_t work_of(const Node& node);

}  // namespace kgen
