// The text of the dims of a run: where each is read, and the conditions that they must meet.
#pragma once

#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// An input that holds a dim (`from:`).
bool is_size(const Graph& graph, ValueId input);

// Declares those of `dims` that a run finds. False: there was nothing to declare.
bool write_sizes(Writer& writer, const Plan& plan, const std::vector<std::string>& dims, const std::string& call);

// Declares those of `dims` that are the same in every run.
void write_fixed_sizes(Writer& writer, const Plan& plan, const std::vector<std::string>& dims);

void write_requirements(Writer& writer, const std::vector<DimRequirement>& requirements, const std::string& call);

}  // namespace kgen
