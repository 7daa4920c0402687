// Values that have room for more than what the run makes of them: along one axis only the first places count, and how
// many they are is a value of its own. A node that reads such a value must not mix its places; then its results count
// along an axis too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/import/content.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

using CountedAxes = std::map<ValueId, CountedAxis>;

struct CountedResults {
  std::vector<std::optional<CountedAxis>> results;  // of the node, in order
  std::string problem;                              // not empty: the node would read places that do not count
};

// What `node`, which is typed and reads at least one of `counted`, does with the axes. What is counted and what is not
// may meet: the model says that they are equally long. The same is meant of two counts.
CountedResults counted_results(const Graph& graph, const Node& node, const CountedAxes& counted, const OpSet& ops);

}  // namespace kgen
