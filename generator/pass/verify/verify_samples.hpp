// What the verifiers of a plan share: sizes to try it with, and how they report what they find.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// The lowest and highest values, the middles, and each dim high while the others are low; without those that the
// graph's requirements exclude.
std::vector<DimBindings> sample_bindings(const Graph& graph);

// Tries each of these sizes, two at a time, and reports the problems of the first that has any.
void verify_samples(const Graph& graph,
                    const std::function<std::vector<std::string>(const DimBindings&)>& problems_with,
                    Diagnostics& diagnostics);

// An internal error for each of the problems, found with `bindings`. True where there are any.
bool report_problems(const Graph& graph, const std::vector<std::string>& problems, const DimBindings& bindings,
                     Diagnostics& diagnostics);
// The same after `pass`, found whatever the sizes.
bool report_problems(const Graph& graph, std::string_view pass, const std::vector<std::string>& problems,
                     Diagnostics& diagnostics);

}  // namespace kgen
