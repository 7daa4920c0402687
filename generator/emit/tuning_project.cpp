#include "generator/emit/tuning_project.hpp"

#include <fmt/format.h>

#include "generator/base/languages.hpp"
#include "generator/base/writer.hpp"
#include "generator/emit/banner.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/names.hpp"
#include "generator/emit/project.hpp"
#include "generator/emit/tables.hpp"

namespace kgen {
namespace {

std::vector<std::string> quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> literals;
  for (const std::string& each : texts) literals.push_back(cpp_string(each));
  return literals;
}

// "{.shape = {M, 512}}", ".values" of one that sizes are read from.
std::string input_text(const Graph& graph, const Argument& input) {
  std::vector<std::string> extents;
  for (const Dim& extent : graph.type(input.value).shape) extents.push_back(cpp_text(extent));
  if (!input.is_size) return fmt::format("{{.shape = {}}}", braced(extents));
  const Shape& shape = graph.type(input.value).shape;
  std::vector<std::string> values(shape.empty() ? 1 : static_cast<std::size_t>(shape[0].constant()), "0");
  for (const DimDeclaration& dim : graph.dims) {
    if (dim.from == input.name) values[static_cast<std::size_t>(dim.element.value_or(0))] = dim.name;
  }
  return fmt::format("{{.shape = {}, .values = {}}}", braced(extents), braced(values));
}

void write_inputs(Writer& writer, const Graph& graph) {
  NameTable names;
  for (const DimDeclaration& dim : graph.dims) names.reserve(dim.name);
  const std::string sizes = names.unique("sizes");
  writer.line("// The inputs of a run with these sizes, by dim.");
  const auto body = writer.block(
      fmt::format("std::vector<kgen::TuningInput> inputs_of([[maybe_unused]] const std::vector<std::int64_t>& {}) {{", sizes));
  for (std::size_t i = 0; i < graph.dims.size(); ++i)
    writer.line("[[maybe_unused]] const std::int64_t {} = {}[{}];", graph.dims[i].name, sizes, i);
  const auto list = writer.block("return {", "};");
  for (const Argument& input : input_arguments(graph)) writer.line("{},", input_text(graph, input));
}

void write_dims(Writer& writer, const Graph& graph) {
  const auto list = writer.block(".dims{", "},");
  for (const DimDeclaration& dim : graph.dims)
    writer.line("{{{}, {}, {}}},", cpp_string(dim.name), dim.range.low, dim.range.high);
}

void write_calls(Writer& writer, const TuningProject& project) {
  const auto list = writer.block(".calls{", "},");
  for (const TunedCall& call : project.calls) {
    writer.line("{{.kernel = {},", cpp_string(call.kernel));
    writer.line(" .when = {},", cpp_string(call.when));
    write_list(writer, " .steps{", quoted(call.steps), "}},");
  }
}

void write_candidates(Writer& writer, const TuningProject& project) {
  const auto list = writer.block(".candidates{", "},");
  for (const TuningCandidate& candidate : project.candidates) {
    const std::string graph = fmt::format("{{.graph = kgen_graph_{}(), .parameters{{", candidate.name);
    write_list(writer, graph, quoted(candidate.parameters), "}},");
  }
}

void write_main(Writer& writer, const TuningProject& project, const Graph& graph) {
  const auto body = writer.block("int main(int argc, char** argv) {");
  {
    const auto tables = writer.block("const kgen::Tuning tuning = {", "};");
    write_dims(writer, graph);
    writer.line(".inputs = inputs_of,");
    write_calls(writer, project);
    write_candidates(writer, project);
  }
  writer.line("return kgen::tune(tuning, argc, argv);");
}

}  // namespace

SourceFile emit_tuning_program(const TuningProject& project, const Plan& plan, const EmitOptions& options) {
  const Graph& graph = plan.main.fused.graph;
  Writer writer;
  writer.line("// Times candidates of compile-time parameters, and writes the fastest as rules of tuning:");
  writer.line("//   cmake -S . -B build && cmake --build build && build/tune --output tuning.yaml");
  writer.line("//   build/tune --help");
  writer.line("#include \"kgen/runtime/tuning.hpp\"");
  writer.line();
  for (const TuningCandidate& each : project.candidates) writer.line("#include \"{0}/{0}.hpp\"", each.name);
  writer.line();
  writer.line("namespace {{");
  writer.line();
  write_inputs(writer, graph);
  writer.line();
  writer.line("}}  // namespace");
  writer.line();
  write_main(writer, project, graph);
  return {"tune.cpp", with_banner(options, writer.take())};
}

SourceFile emit_tuning_build_file(const TuningProject& project, const EmitOptions& options) {
  Writer writer;
  writer.line("# The program that times the candidates, where kgen is installed.");
  writer.line("cmake_minimum_required(VERSION 3.25)");
  writer.line("project(tune LANGUAGES {})", cmake_languages(*options.target));
  writer.line();
  writer.line("if(NOT CMAKE_BUILD_TYPE)");
  writer.line("  set(CMAKE_BUILD_TYPE Release)");
  writer.line("endif()");
  writer.line("if(NOT COMMAND kgen_compile_emitted)");
  writer.line("  find_package(kgen REQUIRED)");
  writer.line("endif()");
  if (options.target->kind == TargetKind::cuda)
    writer.line("set(KGEN_CUBLASLT IF_FOUND)  # a candidate for plain products, as others are");
  writer.line("add_executable(tune tune.cpp)");
  writer.line("target_include_directories(tune PRIVATE ${{CMAKE_CURRENT_LIST_DIR}})");
  for (const TuningCandidate& each : project.candidates) {
    writer.line("add_subdirectory({})", each.name);
    writer.line("target_link_libraries(tune PRIVATE {})", cmake_target(each.name));
  }
  return {"CMakeLists.txt", with_banner(options, writer.take(), "#")};
}

}  // namespace kgen
