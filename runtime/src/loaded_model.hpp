// A loaded graph: what stands behind kgen_model of the C ABI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kgen/runtime/graph_info.hpp"
#include "kgen/stream.hpp"
#include "runtime/src/memory.hpp"
#include "runtime/src/profile.hpp"
#include "runtime/src/safetensors.hpp"

namespace kgen {

struct LoadOptions {
  std::string weights_directory;
  int threads = 0;
  bool check = false;
};

// The buffers of one table, states or persistents, in one mapping. The calls of a row stand one after another.
struct BufferTable {
  struct Row {
    std::int64_t offset = 0;
    std::int64_t bytes_per_call = 0;  // rounded up to slot_alignment
  };
  Mapping memory;
  std::vector<Row> rows;

  std::byte* data(std::size_t row, std::int64_t call) const {
    return memory.data() + rows[row].offset + call * rows[row].bytes_per_call;
  }
};

// Constants by row and call. Most point into the mapped files; inline ones and those that a file holds misaligned are
// owned.
struct Constants {
  std::vector<SafetensorsFile> files;
  std::vector<Mapping> owned;
  std::vector<std::vector<const std::byte*>> data;
};
Constants load_constants(const GraphInfo& graph, const std::string& weights_directory);

// One state of one call, as the C ABI numbers them.
struct StateElement {
  std::string name;
  std::size_t row = 0;
  std::int64_t call = 0;
};

}  // namespace kgen

struct kgen_model {
  const kgen::GraphInfo& graph;
  kgen::Stream stream;
  bool check = false;
  kgen::Constants constants;
  kgen::BufferTable states;
  kgen::BufferTable persistents;
  std::vector<kgen::StateElement> state_elements;
  kgen::Mapping arena;                 // as large as any run has needed
  std::vector<kgen::Mapping> scratch;  // of check functions
  std::string difference;              // the first that check mode found in this run; empty: none
  std::string observed;                // the stub whose operators agree one by one in this run; empty: none
  kgen::Profile profile;

  // Both throw kgen::Error.
  kgen_model(const kgen::GraphInfo& graph, const kgen::LoadOptions& options);
  void run(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs);

 private:
  void execute(void (*function)(kgen::Call&), const char* name, kgen::Call& call);
};
