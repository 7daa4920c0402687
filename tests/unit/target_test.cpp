// The same plan for every target: what differs is a table's worth.
#include "generator/emit/target.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "generator/pipeline.hpp"
#include "tests/unit/repository.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// The files of an example planned for a target, by path; without their banners.
std::map<std::string, std::string> files_for(const Target& target, const std::string& example) {
  const fs::path root = repository::root();
  PipelineOptions options;
  options.graph = (root / "specs" / "graphs" / (example + ".yaml")).string();
  for (const auto& entry : fs::directory_iterator(root / "specs" / "ops")) {
    options.spec_files.push_back(entry.path().string());
  }
  std::sort(options.spec_files.begin(), options.spec_files.end());
  options.signatures = (root / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(root / "templates").string()};
  options.streams = target.streams;
  Session session;
  const auto plan = make_plan(options, session);
  REQUIRE_MESSAGE(plan, session.diagnostics.text(false));
  EmitOptions emit{"graph.yaml", "kgen plan graph.yaml"};
  emit.target = &target;
  if (!target.architectures.empty()) emit.architecture = target.architectures.front();
  std::map<std::string, std::string> files;
  for (const SourceFile& file : emit_plan(*plan, emit)) {
    const std::size_t first = file.content.find('\n');
    files[file.path] = file.content.substr(file.content.find('\n', first + 1) + 1);
  }
  return files;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("target: the text of a stub is the same on every target") {
  for (const std::string example : {"llama_tiny", "llama_block", "softmax", "rope", "matmul_bias_relu", "swiglu"}) {
    const auto on_cpu = files_for(cpu_target, example);
    for (const Target* target : {&cuda_target, &hip_target}) {
      INFO(example, " for ", target->name);
      const auto files = files_for(*target, example);
      int stubs = 0;
      for (const auto& [path, text] : on_cpu) {
        if (!path.starts_with("stubs/")) continue;
        const std::string there = path.substr(0, path.rfind('.')) + std::string(target->stub_extension);
        REQUIRE(files.contains(there));
        CHECK(files.at(there) == text);
        ++stubs;
      }
      CHECK(stubs > 0);
      CHECK(files.size() == on_cpu.size());
    }
  }
}

TEST_CASE("target: the wrapper names the device, and launches independent branches on streams") {
  CHECK_FALSE(has(files_for(cpu_target, "llama_block").at("llama_block.cpp"), "stream"));
  const auto files = files_for(cuda_target, "llama_block");
  const std::string& source = files.at("llama_block.cpp");
  CHECK(has(source, ".device = &kgen::cuda::device,"));
  CHECK(has(source, "const auto streams = call.fork(3);"));
  CHECK(has(source, "call.launch(\"v_flat\", {.signal = 0})"));
  CHECK(has(source, "call.launch(\"k\", {.stream = 1, .wait = {0}, .signal = 1})"));
  CHECK(has(source, "call.launch(\"v_heads_copy\", {.stream = 2, .wait = {0}, .signal = 2})"));
  CHECK(has(source, "call.launch(\"attended\", {.wait = {1, 2}})"));
  CHECK(has(source, ".name = \"position\", .type = kgen::ElementType::i64, .dims = {}, .on_host = true}"));
  CHECK(has(files.at("plan.yaml"), "- {stub: stub_v_heads_copy, stream: 2, after: [q_flat], op: copy"));
  CHECK(has(files.at("CMakeLists.txt"), "project(llama_block LANGUAGES CXX CUDA)"));
  CHECK(has(files.at("CMakeLists.txt"), "kgen_compile_emitted(llama_block TARGET cuda ARCH sm_90a)"));
  CHECK(has(files.at("sources.cmake"), "  stubs/stub_h.cu\n"));
  CHECK(has(files_for(hip_target, "llama_block").at("CMakeLists.txt"),
            "kgen_compile_emitted(llama_block TARGET hip ARCH gfx942)"));
}

TEST_CASE("target: a graph without independent branches has no streams") {
  const std::string source = files_for(cuda_target, "softmax").at("softmax.cpp");
  CHECK_FALSE(has(source, "fork"));
  CHECK(has(source, "call.launch(\"probabilities\")"));
}

TEST_CASE("target: found by name") {
  CHECK(find_target("hip") == &hip_target);
  CHECK(find_target("metal") == nullptr);
  std::set<std::string_view> extensions;
  for (const Target* target : all_targets()) {
    CHECK(find_target(target->name) == target);
    CHECK(extensions.insert(target->stub_extension).second);
  }
}

}  // namespace
}  // namespace kgen
