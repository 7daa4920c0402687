// generated/ holds the emitted source of every example graph. It is exactly what kgen writes today:
//   scripts/update_generated
// writes it anew, for review in the diff.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "generator/format_emitted.hpp"
#include "generator/pipeline.hpp"
#include "tests/unit/repository.hpp"

using namespace kgen;
namespace fs = std::filesystem;

namespace {

// The graphs of specs/graphs/custom are planned with the operators and kernels beside them.
bool is_custom(const fs::path& graph) { return graph.parent_path().filename() == "custom"; }

// An example planned for a target, and its folder in generated/. One is kept for each GPU, since stubs are the same text
// on every target.
struct Example {
  fs::path graph;
  const Target* target;
  fs::path folder;
};

std::vector<SourceFile> emit_example(const Example& example, const ClangServices& clang) {
  const fs::path& graph = example.graph;
  const fs::path root = repository::root();
  PipelineOptions options;
  options.graph = graph.string();
  for (const auto& entry : fs::directory_iterator(root / "specs" / "ops")) options.spec_files.push_back(entry.path().string());
  std::sort(options.spec_files.begin(), options.spec_files.end());
  options.signatures = (root / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(root / "templates").string()};
  options.streams = example.target->streams;
  EmitOptions emit{KGEN_VERSION, fmt::format("kgen plan {} --target {}", graph.filename().string(), example.target->name)};
  emit.target = example.target;
  if (!example.target->architectures.empty()) {
    emit.architecture = example.target->architectures.front();
    emit.command += " --arch " + emit.architecture;
  }
  if (is_custom(graph)) {
    options.spec_files.push_back((graph.parent_path() / "my_ops.yaml").string());
    options.kernels = {(graph.parent_path() / "my_kernels").string()};
    emit.command += " --specs my_ops.yaml --kernels my_kernels";
    emit.include_directories = {"../../specs/graphs/custom"};
  }
  Session session;
  const auto plan = make_plan(options, session);
  REQUIRE_MESSAGE(plan, session.diagnostics.text(false));
  return format_emitted(emit_plan(*plan, emit), {}, {}, [&] { return &clang; });
}

bool is_graph(const fs::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("graph:")) return true;
  }
  return false;
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

std::vector<Example> examples() {
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

}  // namespace

TEST_CASE("generated/ is current") {
  Diagnostics none;
  const ClangServices* clang = clang_services("lay out generated/", none);
  if (!clang) {
    MESSAGE("skipped: this kgen has no Clang, and generated/ is laid out by Clang's formatter");
    return;
  }
  const bool update = std::getenv("KGEN_UPDATE") != nullptr;
  const fs::path root = repository::root();
  const std::vector<Example> all = examples();
  for (const Example& example : all) {
    const fs::path& folder = example.folder;
    if (update) fs::remove_all(folder);
    std::set<std::string> left = files_in(folder);
    for (const SourceFile& file : emit_example(example, *clang)) {
      const fs::path path = folder / file.path;
      if (update) {
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << file.content;
      }
      INFO(path.lexically_relative(root).string(), ": scripts/update_generated writes it anew");
      CHECK(repository::read(path.lexically_relative(root)) == file.content);
      left.erase(file.path);
    }
    if (!update) CHECK_MESSAGE(left.empty(), "generated/ holds files that kgen no longer writes: ", left.empty() ? "" : *left.begin());
  }
  CHECK(all.size() >= 12);
}
