// Plan to the C++ that runs it: all emitted files but the stubs themselves.
#pragma once

#include <vector>

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// <graph>.hpp, <graph>.cpp, stubs.hpp, CMakeLists.txt and sources.cmake. <graph>.cpp holds, in this order, what each
// function of the graph needs (its memory, its arena, itself), `load`, `run` and the descriptor.
std::vector<SourceFile> emit_wrapper(const Plan& plan, const EmitOptions& options);

}  // namespace kgen
