// Updates of one state, each of what the one before it made: all write into one buffer, so that what a later one brings
// goes over what an earlier one brought where the two meet.
#pragma once

#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

bool is_update(const Node& node);  // as a view: not a kernel that writes in place

// The update (a view) that makes `version` of a state; null: none does.
const Node* update_making(const Graph& graph, ValueId version);

// The value, and the parts that it is made up of where it lies, and theirs.
std::vector<ValueId> parts_of(const Graph& graph, ValueId value);

// The nodes that write these, each once.
std::vector<NodeId> writers_of(const Graph& graph, ValueId value);

// Whether no element that one of these updates of one state writes is written by the other, whatever the sizes are.
bool provably_apart(const Graph& graph, const Node& earlier, const Node& later, const DimRanges& ranges);

// The version of the state that must be whole before what `update` brings is written; no_id: none. is_beside(node):
// that node may write at once with it, as far as the two are apart.
template <class IsBeside>
ValueId version_needed(const Graph& graph, const Node& update, const DimRanges& ranges, IsBeside is_beside) {
  ValueId version = update.inputs[0];
  while (const Node* earlier = update_making(graph, version)) {
    const std::vector<NodeId> writers = writers_of(graph, earlier->inputs[1]);
    if (writers.size() != 1 || !is_beside(writers[0]) || !provably_apart(graph, *earlier, update, ranges)) break;
    version = earlier->inputs[0];
  }
  return graph.value(version).kind == ValueKind::result ? version : no_id;
}

}  // namespace kgen
