// ONNX models: whatever the bytes are, they become a graph that can be loaded and typed, or there is a message.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "generator/import/import_model.hpp"
#include "generator/import/onnx/read_model.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/pass/infer/infer.hpp"
#include "tests/fuzz/project/common.hpp"

namespace {

// A file in memory, so that no disk is written; the model's folder, from which weights may come, has nothing else in
// it.
std::string path_of(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("model.onnx", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kgen::Diagnostics diagnostics;
  const auto model = kgen::read_model(path_of(data, size), diagnostics);
  if (model.has_value() == diagnostics.has_errors())
    kgen::fuzz::report("read despite errors, or not read without", diagnostics);
  if (!model) return 0;
  kgen::ImportOptions options{.model = "/nowhere/m.onnx", .graph_name = "m", .weights_file = "m.safetensors"};
  const auto result =
      kgen::import_model(*model, kgen::fuzz::shipped_rules(), kgen::fuzz::shipped_ops(), options, diagnostics);
  diagnostics.text(false);
  if (result.model.has_value() == diagnostics.has_errors())
    kgen::fuzz::report("imported despite errors, or not imported without", diagnostics);
  if (!result.model) return 0;
  const kgen::SourceText source{"m.yaml", result.model->graph};
  kgen::Diagnostics problems;
  auto graph = kgen::load_graph(source, kgen::fuzz::shipped_ops(), problems);
  if (graph) kgen::infer(std::move(*graph), kgen::fuzz::shipped_ops(), problems);
  if (problems.has_errors()) kgen::fuzz::report("an imported graph has errors:\n" + result.model->graph, problems);
  return 0;
}
