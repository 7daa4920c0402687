// What a node costs beside memory traffic.
#pragma once

#include <cstdint>

#include "generator/model/graph.hpp"

namespace kgen {

// Of one element, in bits of traffic, by the operator's definition. Of an operator that has none, as much as of the
// most expensive functions.
std::int64_t work_of(const Node& node, const Prices& prices);

}  // namespace kgen
