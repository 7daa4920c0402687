// Where several updates of one state follow each other, what each brings is written into the same buffer. These say
// which parts have to be copied there, by the results of the updates.
#pragma once

#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// Updates whose parts something else reads, too, while a later update may write over them.
std::vector<ValueId> updates_of_parts_kept(const Graph& graph, const DimRanges& ranges);

// Puts the nodes in an order in which each part is written once the versions that it may write over are whole,
// otherwise as they stood. Returns the updates for whose parts there is no such order: their makers are needed for
// those versions.
std::vector<ValueId> order_updates(Graph& graph, const DimRanges& ranges);

}  // namespace kgen
