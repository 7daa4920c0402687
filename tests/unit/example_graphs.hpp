// The graphs of specs/graphs, planned and emitted as people do.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "generator/pipeline.hpp"
#include "tests/unit/repository.hpp"

namespace kgen::test {

namespace fs = std::filesystem;

// An example planned for a target, and its folder in generated/. One is kept for each GPU, since stubs are the same
// text on every target.
struct Example {
  fs::path graph;
  const Target* target;
  fs::path folder;
};

// The graphs of specs/graphs/custom are planned with the operators and kernels beside them.
inline bool is_custom(const Example& example) { return example.graph.parent_path().filename() == "custom"; }

// Planned and emitted as `graph`, the example's own file or a changed copy of it.
inline std::vector<SourceFile> emit_example(const Example& example, const fs::path& graph, bool check = false) {
  const fs::path root = repository::root();
  PipelineOptions options;
  options.graph = graph.string();
  for (const auto& entry : fs::directory_iterator(root / "specs" / "ops"))
    options.spec_files.push_back(entry.path().string());
  std::sort(options.spec_files.begin(), options.spec_files.end());
  options.signatures = (root / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(root / "templates").string()};
  options.streams = example.target->streams;
  options.target = example.target->kind;
  options.check = check;
  const std::string file = graph.filename().string();
  EmitOptions emit{file, fmt::format("kgen plan {} --target {}", file, example.target->name)};
  emit.target = example.target;
  if (!example.target->architectures.empty()) {
    options.architecture = example.target->architectures.front();
    emit.architecture = name_of(options.architecture);
    emit.command += " --arch " + emit.architecture;
  }
  if (is_custom(example)) {
    options.spec_files.push_back((example.graph.parent_path() / "my_ops.yaml").string());
    options.kernels = {(example.graph.parent_path() / "my_kernels").string()};
    emit.command += " --specs my_ops.yaml --kernels my_kernels";
    emit.include_directories = {"../../specs/graphs/custom"};
  }
  Session session;
  const auto plan = make_plan(options, session);
  REQUIRE_MESSAGE(plan, session.diagnostics.text(false));
  return emit_plan(*plan, emit);
}

inline bool is_graph(const fs::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("graph:")) return true;
  }
  return false;
}

inline std::vector<Example> examples() {
  const fs::path root = repository::root();
  std::vector<Example> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / "specs" / "graphs")) {
    if (entry.path().extension() != ".yaml" || !is_graph(entry.path())) continue;
    found.push_back({entry.path(), &cpu_target, root / "generated" / entry.path().stem()});
  }
  found.push_back({root / "specs/graphs/llama_block.yaml", &cuda_target, root / "generated/cuda/llama_block"});
  found.push_back({root / "specs/graphs/rope.yaml", &hip_target, root / "generated/hip/rope"});
  return found;
}

}  // namespace kgen::test
