// A loaded graph: what stands behind kgen_model of the C ABI.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen/runtime/error.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "runtime/src/constants.hpp"
#include "runtime/src/profile.hpp"
#include "runtime/src/runs.hpp"
#include "runtime/src/streams.hpp"

namespace kgen {

struct LoadOptions {
  std::string weights_directory;
  int threads = 0;
  bool check = false;
  int device = 0;
  bool eager = false;
  bool synchronous = false;
};

// The buffers of one table, states or persistents, in one allocation. The calls of a row stand one after another.
struct BufferTable {
  struct Row {
    std::int64_t offset = 0;
    std::int64_t bytes_per_call = 0;  // rounded up to slot_alignment
  };
  DeviceBuffer memory;
  std::vector<Row> rows;

  std::byte* data(std::size_t row, std::int64_t call) const {
    return memory.data() + rows[row].offset + call * rows[row].bytes_per_call;
  }
};

// What the states begin as that do not begin as zero: kept where they are, for a reset.
class InitialStates {
 public:
  InitialStates(const GraphInfo& graph, const std::string& weights_directory, const DeviceApi& api,
                StreamHandle stream);

  void copy_to(const BufferTable& states, const DeviceApi& api, StreamHandle stream);

 private:
  std::vector<std::size_t> rows_;  // which state each of `infos_` is of
  std::vector<ConstantInfo> infos_;
  Constants values_;
};

// One state of one call, as the C ABI numbers them.
struct StateElement {
  std::string name;
  std::size_t row = 0;
  std::int64_t call = 0;
};

}  // namespace kgen

// Its functions throw kgen::Error, and expect its device to be the thread's.
struct kgen_model {
  const kgen::GraphInfo& graph;
  const kgen::LoadOptions options;
  const kgen::DeviceApi& api;
  kgen::Streams streams;  // outlives the memory that comes and goes in its order
  kgen::Constants constants;
  kgen::InitialStates initial_states;
  kgen::BufferTable states;
  kgen::BufferTable persistents;
  std::vector<kgen::StateElement> state_elements;
  kgen::DeviceBuffer arena;                    // as large as any run has needed
  std::vector<kgen::DeviceBuffer> workspaces;  // of stubs, by stream
  std::vector<kgen::DeviceBuffer> scratch;     // of check functions
  kgen::DeviceBuffer host_staged, staged;      // pinned, and on the device: inputs of the host's, for each of `runs`
  kgen::Runs runs;
  kgen::Run* run_now = nullptr;              // the one that is under way on a GPU; null in a caller's graph
  bool capturing = false;                    // the run that is under way is not done but captured
  bool in_callers_graph = false;             // by the caller
  bool arena_is_captured = false;            // callers' graphs point into the arena
  std::vector<kgen::DeviceBuffer> captured;  // what else captured runs point into, until the model is freed
  std::string difference;                    // the first that check mode found in this run; empty: none
  std::string observed;                      // the stub whose operators agree one by one in this run; empty: none
  std::optional<kgen::Error> failure;        // what the end of a launch came to: the next one throws it
  kgen::Profile profile;

  kgen_model(const kgen::GraphInfo& graph, const kgen::LoadOptions& options);
  ~kgen_model();

  // On the model's own stream, which is waited for.
  void run(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs);
  // In the order of `stream`.
  void run_on(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs, kgen::StreamHandle stream);
  void reset_state();

  // ---- for Call
  DLDevice dlpack_device() const { return {api.memory_type, options.device}; }
  // Everything on one stream, each launch waited for, so that what fails can be named.
  bool careful() const { return options.check || options.synchronous; }
  bool profiled() const { return profile.running() && !in_callers_graph; }
  void note_failure(const kgen::Error& error);
  void grow_arena(std::size_t bytes);
  // For what is launched next on one of a run's streams, in its order. Null where there is too little and the model
  // captures the launch.
  void* workspace(int stream, std::size_t bytes);
  // The address on the device of an input of the host's that is copied there in the order of stream 0.
  const void* stage_input(int input, const std::byte* values);

 private:
  void execute(void (*function)(kgen::Call&), const char* name, kgen::Call& call);
  void launch(kgen::Run& run, bool is_known, kgen::Call& call, kgen::StreamHandle stream);
  void capture(kgen::Run& run, kgen::Call& call);
  void run_in_callers_graph(kgen::Call& call, kgen::StreamHandle stream);
  void wait_quietly(kgen::StreamHandle stream) noexcept;
};

namespace kgen {

// The graph on its device. Throws kgen::Error.
std::unique_ptr<kgen_model> load_model(const GraphInfo& graph, const LoadOptions& options);
inline DeviceScope scope_of(const kgen_model& model) { return {model.api, model.options.device}; }

}  // namespace kgen
