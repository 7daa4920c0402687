// The dims of a run: where each is read, and the conditions that they must meet.
#pragma once

#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/emit/tables.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// An input that holds a dim (`from:`).
bool is_size(const Graph& graph, ValueId input);

// Declares `dims`: each fixed, read from a scalar input, or an extent of an input. False: there was nothing to declare.
bool write_sizes(Writer& writer, const Graph& graph, const std::vector<std::string>& dims, const std::string& call);

// Declares those of `dims` whose range is a single number.
void write_fixed_sizes(Writer& writer, const Graph& graph, const std::vector<std::string>& dims);

// The requirements of the graph and of the functions it calls, each once, less those that hold for all dims.
std::vector<const DimRequirement*> open_requirements(const Plan& plan, const CallNumbers& numbers);
void write_requirements(Writer& writer, const std::vector<const DimRequirement*>& requirements,
                        const std::string& call);

}  // namespace kgen
