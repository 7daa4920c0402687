// The emitted files around the source of a graph: its header, the stubs' declarations, and how to build them.
#pragma once

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// The languages of CMake that source for the target is in: the host's, and that of the stubs.
std::string cmake_languages(const Target& target);

SourceFile emit_header(const Plan& plan, const EmitOptions& options);       // <graph>.hpp: for programs, C and C++
SourceFile emit_stub_header(const Plan& plan, const EmitOptions& options);  // stubs.hpp
SourceFile emit_build_file(const Plan& plan, const EmitOptions& options);   // CMakeLists.txt: a library of the folder
SourceFile emit_source_list(const Plan& plan, const EmitOptions& options);  // sources.cmake: what to compile

}  // namespace kgen
