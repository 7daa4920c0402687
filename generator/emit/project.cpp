#include "generator/emit/project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generator/base/languages.hpp"
#include "generator/base/writer.hpp"
#include "generator/emit/banner.hpp"
#include "generator/emit/check.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/names.hpp"
#include "generator/emit/structs.hpp"
#include "generator/emit/stub.hpp"
#include "generator/emit/tables.hpp"

namespace kgen {
namespace {

// "//   inputs   A: bf16[M, 4096]", one a line.
void write_tensor_comments(Writer& writer, const Graph& graph, std::string_view title,
                           const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    const bool first = &argument == &arguments.front();
    writer.line("//   {:<8} {}: {}", first ? title : "", argument.name, to_text(graph.type(argument.value)));
  }
}

void write_about(Writer& writer, const Graph& graph) {
  writer.line("// The graph {}: load it with kgen_model_load, run it with kgen_model_run.", graph.name);
  write_tensor_comments(writer, graph, "inputs", input_arguments(graph));
  write_tensor_comments(writer, graph, "outputs", output_arguments(graph));
  for (std::size_t i = 0; i < graph.dims.size(); ++i) {
    const DimDeclaration& dim = graph.dims[i];
    const std::string range = dim.range.low == dim.range.high ? std::to_string(dim.range.low)
                                                              : fmt::format("{}..{}", dim.range.low, dim.range.high);
    writer.line("//   {:<8} {}: {}{}", i == 0 ? "dims" : "", dim.name, range,
                dim.from.empty() ? "" : fmt::format(", the value of {}", source_text(dim)));
  }
}

// " TARGET cuda ARCH sm_90a"; nothing where the host is the device.
std::string build_arguments(const EmitOptions& options) {
  if (options.target->device.empty()) return "";
  return fmt::format(" TARGET {} ARCH {}", options.target->name, options.architecture);
}

bool rounds_every_operator(const Plan& plan) {
  const auto exact = [](const FunctionPlan& part) { return part.fused.graph.numerics == Numerics::match_unfused; };
  return exact(plan.main) || std::any_of(plan.functions.begin(), plan.functions.end(), exact);
}

}  // namespace

std::string cmake_languages(const Target& target) {
  return target.device.empty() ? "CXX" : fmt::format("CXX {}", target.language);
}

SourceFile emit_header(const Plan& plan, const EmitOptions& options) {
  const Graph& graph = plan.main.fused.graph;
  Writer writer;
  write_about(writer, graph);
  writer.line("#pragma once");
  writer.line();
  writer.line("#include \"kgen_runtime.h\"");
  writer.line();
  writer.line("KGEN_EXTERN_C const kgen_graph* kgen_graph_{}(void);", graph.name);
  return {graph.name + ".hpp", with_banner(options, writer.take())};
}

SourceFile emit_stub_header(const Plan& plan, const EmitOptions& options) {
  const std::string& name = plan.main.fused.graph.name;
  Writer writer;
  writer.line("// The stubs of {}, each in stubs/<name>{}.", name, options.target->stub_extension);
  writer.line("#pragma once");
  writer.line();
  const std::vector<const StructType*> structs = structs_of(plan);
  if (!structs.empty()) {
    writer.line("#include <type_traits>");
    writer.line();
  }
  writer.line("#include \"kgen/stream.hpp\"");
  writer.line("#include \"kgen/view.hpp\"");
  write_structs(writer, structs);
  writer.line();
  writer.line("namespace {} {{", namespace_name(name));
  for (const StubProgram& stub : plan.stubs) {
    writer.line();
    write_uses(writer, stub);
    writer.raw_line(stub_declaration(stub) + ";");
  }
  writer.line();
  writer.line("}}  // namespace {}", namespace_name(name));
  return {"stubs.hpp", with_banner(options, writer.take())};
}

SourceFile emit_build_file(const Plan& plan, const EmitOptions& options) {
  const std::string& graph = plan.main.fused.graph.name;
  const std::string name = cmake_target(graph);
  Writer writer;
  writer.line("# The graph {} as the library {}: for add_subdirectory, or on its own where kgen is installed.", graph, name);
  writer.line("cmake_minimum_required(VERSION 3.25)");
  writer.line("project({} LANGUAGES {})", name, cmake_languages(*options.target));
  writer.line();
  writer.line("if(NOT COMMAND kgen_compile_emitted)");
  writer.line("  find_package(kgen REQUIRED)");
  writer.line("endif()");
  writer.line("include(${{CMAKE_CURRENT_LIST_DIR}}/sources.cmake)");
  writer.line("add_library({} ${{kgen_sources}})", name);
  writer.line("target_include_directories({} PUBLIC ${{CMAKE_CURRENT_LIST_DIR}})", name);
  writer.line("kgen_compile_emitted({}{})", name, build_arguments(options));
  if (!options.include_directories.empty()) {
    writer.line();
    writer.line("# Where the folders of your own kernels are.");
    writer.line("target_include_directories({} PRIVATE", name);
    for (const std::string& directory : options.include_directories) {
      writer.line("  {}", cmake_path(directory));
    }
    writer.line(")");
  }
  if (plan.check) writer.line("kgen_observe_stubs({} ${{CMAKE_CURRENT_LIST_DIR}} ${{kgen_observed}})", name);
  return {"CMakeLists.txt", with_banner(options, writer.take(), "#")};
}

SourceFile emit_source_list(const Plan& plan, const EmitOptions& options) {
  const std::string& name = plan.main.fused.graph.name;
  std::vector<std::string> sources{name + ".cpp"};
  const std::string_view extension = options.target->stub_extension;
  for (const StubProgram& stub : plan.stubs) sources.push_back(fmt::format("stubs/{}{}", stub.name, extension));
  if (plan.check) {
    sources.push_back("check.cpp");
    for (const StubProgram& stub : plan.check->stubs) sources.push_back(fmt::format("check/{}{}", stub.name, extension));
  }
  std::sort(sources.begin(), sources.end());
  Writer writer;
  writer.line("# The emitted C++, relative to this folder.");
  writer.line("set(kgen_sources");
  for (const std::string& source : sources) writer.line("  {}", cmake_argument(source));
  writer.line(")");
  writer.line("set(kgen_headers");
  writer.line("  {}.hpp", name);
  writer.line("  stubs.hpp");
  if (plan.check) writer.line("  check.hpp");
  writer.line(")");
  if (plan.check) {
    writer.line("# Those of which check mode needs a copy to look into: see kgen_observe_stubs.");
    writer.line("set(kgen_observed");
    for (const std::string& stub : observed_stubs(plan, *options.target)) writer.line("  stubs/{}.cpp", stub);
    writer.line(")");
  }
  if (rounds_every_operator(plan)) {
    writer.line(
        "# Every operator rounds: no GPU's compiler may make one instruction of two of them, and functions are within "
        "1 ulp.");
    writer.line("set(kgen_numerics match_unfused)");
  }
  return {"sources.cmake", with_banner(options, writer.take(), "#")};
}

}  // namespace kgen
