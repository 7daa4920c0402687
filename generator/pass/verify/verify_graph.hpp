// Verifies a graph between passes, with no line of the code that made it: it rests on the model alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// What passes have brought about: it must hold after them, and after all that follow.
struct GraphFacts {
  // Every node has the kind of its operator, every value a type that follows from its node's operands, and operands are
  // made before they are read.
  bool inferred = false;
  // What computes has a kernel of its operator, and the kind of that kernel; but for composites.
  bool kernels_chosen = false;
  bool decomposed = false;    // no composites are left
  bool materialised = false;  // outputs, next values and parts each have one writer; floats may be read unwidened
};

// What does not hold, in words ("'y' is made twice"); empty where all does, and never more than a few. `functions`:
// how many of them the graph may call, the first ones. Linear in the size of the graph.
std::vector<std::string> graph_problems(const Graph& graph, const std::vector<Graph>& functions, std::size_t callable,
                                        const GraphFacts& facts);

// Reports the problems of every graph as internal errors after `pass`.
void verify_module(const Module& module, const GraphFacts& facts, std::string_view pass, Diagnostics& diagnostics);
// The same of the groups: see verify_groups.hpp.
void verify_fused(const FusedGraph& fused, std::string_view pass, Diagnostics& diagnostics);

}  // namespace kgen
