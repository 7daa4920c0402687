// The same plan for every target, but for what conditions ask of it: what else differs is a table's worth.
#include "generator/emit/target.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "generator/pipeline.hpp"
#include "tests/unit/has.hpp"
#include "tests/unit/repository.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// The files of an example planned for a target, by path; without their banners.
std::map<std::string, std::string> files_for(const Target& target, const std::string& example) {
  const fs::path root = repository::root();
  PipelineOptions options;
  for (const char* folder : {"specs/graphs", "tests/examples/graphs", "tests/bench/gpu"}) {
    options.graph = (root / folder / (example + ".yaml")).string();
    if (fs::exists(options.graph)) break;
  }
  for (const auto& entry : fs::directory_iterator(root / "specs" / "ops")) {
    options.spec_files.push_back(entry.path().string());
  }
  std::sort(options.spec_files.begin(), options.spec_files.end());
  options.signatures = (root / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(root / "templates").string()};
  options.streams = target.streams;
  options.target = target.kind;
  if (!target.architectures.empty()) options.architecture = target.architectures.front();
  Session session;
  const auto plan = make_plan(options, session);
  REQUIRE_MESSAGE(plan, session.diagnostics.text(false));
  EmitOptions emit{"graph.yaml", "kgen plan graph.yaml"};
  emit.target = &target;
  if (!target.architectures.empty()) emit.architecture = name_of(options.architecture);
  std::map<std::string, std::string> files;
  for (const SourceFile& file : emit_plan(*plan, emit)) {
    const std::size_t first = file.content.find('\n');
    files[file.path] = file.content.substr(file.content.find('\n', first + 1) + 1);
  }
  return files;
}

// Each stub of the first target has its like on the second.
void check_same_stubs(const Target& first, const Target& second, const std::string& example) {
  INFO(example, " for ", first.name, " and ", second.name);
  const auto here = files_for(first, example), there = files_for(second, example);
  int stubs = 0;
  for (const auto& [path, text] : here) {
    if (!path.starts_with("stubs/")) continue;
    const std::string other = path.substr(0, path.rfind('.')) + std::string(second.stub_extension);
    REQUIRE(there.contains(other));
    CHECK(there.at(other) == text);
    ++stubs;
  }
  CHECK(stubs > 0);
  CHECK(here.size() == there.size());
}

TEST_CASE("target: the text of a stub is the same on every target where no condition asks for the target") {
  for (const std::string example : {"softmax", "rope", "matmul_bias_relu", "swiglu"}) {
    check_same_stubs(cpu_target, cuda_target, example);
    check_same_stubs(cpu_target, hip_target, example);
  }
}

TEST_CASE("target: weights are packed on the CPU alone, and nothing else differs") {
  for (const std::string example : {"llama_tiny", "llama_block"}) {
    check_same_stubs(cuda_target, hip_target, example);
    const auto on_cpu = files_for(cpu_target, example), on_gpu = files_for(cuda_target, example);
    int packed = 0;
    for (const auto& [path, text] : on_cpu) {
      if (!path.starts_with("stubs/")) continue;
      const auto there = on_gpu.find(path.substr(0, path.rfind('.')) + ".cu");
      if (has(text, "kgen::pack_columns(")) {
        CHECK(there == on_gpu.end());
        ++packed;
      } else if (has(text, "kgen::packed_matmul(")) {
        REQUIRE(there != on_gpu.end());
        CHECK(has(there->second, "kgen::matmul("));
      } else {
        REQUIRE(there != on_gpu.end());
        CHECK(there->second == text);
      }
    }
    CHECK(packed > 0);
  }
}

TEST_CASE("target: products of bytes are tensor cores' on GPUs, and the instructions' for bytes on the CPU") {
  const std::string on_gpu = files_for(cuda_target, "matmul_i8_row_scales").at("stubs/stub_y.cu");
  CHECK(has(on_gpu, "kgen::integer_matmul(x, columns, epilogue, stream);"));
  CHECK(has(on_gpu, "kgen::View<const std::int8_t, 2> x"));
  const std::string on_cpu = files_for(cpu_target, "matmul_i8_row_scales").at("stubs/stub_y.cpp");
  CHECK_FALSE(has(on_cpu, "byte_matmul"));
  CHECK(has(on_cpu, "integer_matmul(x, "));
}

TEST_CASE("target: products of groups of rows share a call, and gather rows where they are read element by element") {
  for (const Target& target : {cpu_target, cuda_target}) {
    const std::string stub =
        files_for(target, "grouped_products").at("stubs/stub_inner" + std::string(target.stub_extension));
    CHECK(has(stub, "kgen::grouped_matmul(prologue_a, kgen::several(gate, up), ends, epilogue, stream);"));
  }
  CHECK(has(files_for(cuda_target, "grouped_swiglu_bf16").at("stubs/stub_y.cu"),
            "kgen::grouped_matmul(x, kgen::several(w1, w3), ends, epilogue, stream);"));
}

TEST_CASE("target: the wrapper names the device, and launches independent branches on streams") {
  const std::string branches = files_for(cuda_target, "gathers").at("gathers.cpp");
  CHECK_FALSE(has(files_for(cpu_target, "gathers").at("gathers.cpp"), "stream"));
  CHECK(has(branches, "const auto streams = call.fork("));
  CHECK(has(branches, "{.stream = 1"));
  const auto files = files_for(cuda_target, "llama_block");
  const std::string& source = files.at("llama_block.cpp");
  CHECK(has(source, ".device = &kgen::cuda::device,"));
  CHECK_FALSE(has(source, "call.fork"));  // one call computes what all branches read
  CHECK(has(source, "call.launch(\"attended\")"));
  CHECK(has(source, ".name = \"position\", .type = kgen::ElementType::i64, .dims = {}, .on_host = true}"));
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
