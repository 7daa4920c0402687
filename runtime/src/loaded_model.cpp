#include "runtime/src/loaded_model.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kgen/runtime/arena.hpp"
#include "kgen/runtime/call.hpp"
#include "runtime/src/arguments.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

// StateInfo and PersistentInfo alike: states begin with zeros, the others with what loading computes.
template <class Info>
BufferTable allocate(const std::vector<Info>& infos, const DeviceApi& api, StreamHandle stream) {
  BufferTable table;
  std::int64_t total = 0;
  for (const Info& info : infos) {
    const std::int64_t bytes = end_of_slot(0, checked_bytes(info.shape, info.type));
    table.rows.push_back({total, bytes});
    const std::int64_t calls = info.calls;
    total = end_of_slot(total, checked_bytes({&calls, 1}, bytes));
  }
  constexpr auto make = std::is_same_v<Info, StateInfo> ? DeviceBuffer::zeroed : DeviceBuffer::undefined;
  table.memory = make(api, static_cast<std::size_t>(total), stream);
  return table;
}

// Of the states that begin as given elements.
std::vector<std::size_t> rows_of_given(const GraphInfo& graph) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < graph.states.size(); ++row) {
    if (graph.states[row].file != nullptr || !graph.states[row].values.empty()) rows.push_back(row);
  }
  return rows;
}

std::vector<ConstantInfo> given_states(const GraphInfo& graph, const std::vector<std::size_t>& rows) {
  std::vector<ConstantInfo> infos;
  for (const std::size_t row : rows) {
    const StateInfo& state = graph.states[row];
    infos.push_back({state.name, state.type, state.shape, state.values, state.file, state.key, state.calls});
  }
  return infos;
}

std::vector<StateElement> name_states(const GraphInfo& graph) {
  std::vector<StateElement> elements;
  for (std::size_t row = 0; row < graph.states.size(); ++row) {
    const StateInfo& state = graph.states[row];
    for (std::int64_t call = 0; call < state.calls; ++call) {
      elements.push_back({state.calls == 1 ? state.name : concat(state.name, "[", call, "]"), row, call});
    }
  }
  return elements;
}

void require_loadable(const GraphInfo& graph, const LoadOptions& options) {
  if (graph.abi != abi_version) {
    fail(KGEN_ABI_MISMATCH, "the graph was emitted for version ", graph.abi,
         " of the runtime's interface, but this is version ", abi_version, "; plan it again with this kgen");
  }
  if (options.threads < 0) fail(KGEN_INVALID_ARGUMENT, "threads is ", options.threads, ", expected 0 or more");
  if (options.check && !graph.checkable) {
    fail(KGEN_NOT_CHECKABLE, "graph '", graph.name,
         "' was emitted without check functions; plan it again with --check");
  }
}

// What the API of a GPU says, with what it was doing; what is wrong with arguments is said already. Kernels throw a
// std::runtime_error of their own, with the stub in its text, where they cannot be launched.
template <class Body>
void named(const DeviceApi& api, const char* what, const char* name, Body&& body) {
  if (api.is_host) return body();
  const auto named_error = [&](kgen_status status, const std::exception& error) {
    return Error(status, concat(what, " '", name, "': ", error.what()));
  };
  try {
    body();
  } catch (const Error& error) {
    if (error.status() != KGEN_DEVICE_ERROR && error.status() != KGEN_OUT_OF_MEMORY) throw;
    throw named_error(error.status(), error);
  } catch (const std::runtime_error& error) {
    throw named_error(KGEN_DEVICE_ERROR, error);
  }
}

void require_device(const GraphInfo& graph, int device) {
  int devices = 0;
  named(*graph.device, "loading graph", graph.name, [&] { devices = graph.device->count(); });
  if (device >= 0 && device < devices) return;
  fail(KGEN_INVALID_ARGUMENT, "device ", device, " was asked for, but ", graph.device->name, " has ", devices);
}

// Of what is in the host's memory of the first `inputs` arguments, each rounded up to whole numbers of 64 bits.
std::size_t host_bytes(const GraphInfo& graph, std::size_t inputs) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (graph.inputs[i].on_host) bytes += static_cast<std::size_t>(fixed_count(graph.inputs[i])) * sizeof(std::int64_t);
  }
  return bytes;
}

// Room for all of that, which stubs may read on the device, for each run that is kept.
std::size_t staged_bytes(const GraphInfo& graph) {
  return graph.device->is_host ? 0 : Runs::most * host_bytes(graph, graph.inputs.size());
}

}  // namespace

InitialStates::InitialStates(const GraphInfo& graph, const std::string& weights_directory, const DeviceApi& api,
                             StreamHandle stream)
    : rows_(rows_of_given(graph)), infos_(given_states(graph, rows_)), values_(infos_, weights_directory, api, stream) {
  values_.finish_load();
}

void InitialStates::copy_to(const BufferTable& states, const DeviceApi& api, StreamHandle stream) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(checked_bytes(infos_[i].shape, infos_[i].type));
    for (int call = 0; call < infos_[i].calls && bytes > 0; ++call) {
      api.copy(states.data(rows_[i], call), values_.data(i, call), bytes, stream);
    }
  }
}

std::unique_ptr<kgen_model> load_model(const GraphInfo& graph, const LoadOptions& options) {
  require_loadable(graph, options);
  require_device(graph, options.device);
  const DeviceScope scope(*graph.device, options.device);
  std::unique_ptr<kgen_model> model;
  named(*graph.device, "loading graph", graph.name, [&] { model = std::make_unique<kgen_model>(graph, options); });
  return model;
}

}  // namespace kgen

kgen_model::kgen_model(const kgen::GraphInfo& graph_info, const kgen::LoadOptions& load_options)
    : graph(graph_info),
      options(load_options),
      api(*graph.device),
      streams(api),
      constants(graph.constants, options.weights_directory, api, streams.own()),
      initial_states(graph, options.weights_directory, api, streams.own()),
      states(kgen::allocate(graph.states, api, streams.own())),
      persistents(kgen::allocate(graph.persistents, api, streams.own())),
      state_elements(kgen::name_states(graph)),
      host_staged(kgen::DeviceBuffer::pinned(api, kgen::staged_bytes(graph))),
      staged(kgen::DeviceBuffer::undefined(api, host_staged.size(), streams.own())),
      runs(api),
      profile(api) {
  streams.begin(streams.own(), true);
  if (graph.load != nullptr) {
    kgen::Call call(*this);
    execute(graph.load, "load", call);
    arena.release();  // runs have their own needs
  }
  constants.finish_load();
  initial_states.copy_to(states, api, streams.own());
  api.wait_for_stream(streams.own());
}

// What is under way on a stream of the caller's still uses the memory.
kgen_model::~kgen_model() {
  if (runs.finished() == nullptr) return;
  try {
    api.wait(streams.own(), runs.finished());
  } catch (const kgen::Error&) {
  }
  wait_quietly(streams.own());
}

// For a run that has failed: what failed is over.
void kgen_model::wait_quietly(kgen::StreamHandle stream) noexcept {
  try {
    api.wait_for_stream(stream);
  } catch (const kgen::Error&) {
  }
}

void kgen_model::run(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs) {
  run_on(inputs, outputs, streams.own());
  if (api.is_host) return;
  kgen::named(api, "graph", graph.name, [&] {
    try {
      api.wait_for_stream(streams.own());
    } catch (const kgen::Error& error) {
      kgen::fail(error.status(), error.what(),
                 "; a kernel of this run or of one before it failed: load the model with `synchronous` to learn which");
    }
  });
}

void kgen_model::run_on(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs,
                        kgen::StreamHandle stream) {
  kgen::Call call(*this, inputs, outputs);
  if (api.is_host) return execute(graph.run, graph.name, call);
  kgen::named(api, "graph", graph.name, [&] {
    const std::string error = api.take_launch_error();
    if (!error.empty())
      kgen::fail(KGEN_DEVICE_ERROR, "an error was left by what ran before it on this thread: ", error);
    if (api.is_capturing(stream)) return run_in_callers_graph(call, stream);
    if (runs.finished() != nullptr) api.wait(stream, runs.finished());
    const auto [run, is_known] = runs.find(kgen::key_of(graph, inputs, outputs));
    try {
      launch(run, is_known, call, stream);
    } catch (...) {
      kgen::Runs::forget(run);
      wait_quietly(stream);  // some of its stubs may be under way
      throw;
    }
    api.record(run.finished.get(), stream);
    runs.set_latest(run);
  });
}

// A run is launched stub by stub at first, which makes what streams, events and memory it needs. When it comes again it
// is captured, and from then on it is one launch.
void kgen_model::launch(kgen::Run& run, bool is_known, kgen::Call& call, kgen::StreamHandle stream) {
  run_now = &run;
  if (!is_known || options.eager || careful() || profile.running()) {
    streams.begin(stream, careful());
    return execute(graph.run, graph.name, call);
  }
  if (!run.is_captured) capture(run, call);
  api.push_range(graph.name);
  api.replay(run.replay.get(), stream);
  api.pop_range();
}

// On a stream of the model's own, since a default stream cannot be captured.
void kgen_model::capture(kgen::Run& run, kgen::Call& call) {
  streams.begin(streams.own(), false);
  api.begin_capture(streams.own());
  capturing = true;
  try {
    execute(graph.run, graph.name, call);
  } catch (...) {
    capturing = false;
    api.discard_capture(streams.own());
    throw;
  }
  capturing = false;
  const kgen::ReplayHandle replay = api.end_capture(streams.own(), run.replay.get());
  if (replay != run.replay.get()) run.replay.reset(replay);
  run.is_captured = true;
}

// Stub by stub, so that the caller's graph holds the kernels themselves. What the graph needs of the model besides is
// made outside of it, and stays where it is. There is no order to other runs: the caller replays the graph.
void kgen_model::run_in_callers_graph(kgen::Call& call, kgen::StreamHandle stream) {
  if (careful()) {
    kgen::fail(
        KGEN_INVALID_ARGUMENT, "graph '", graph.name,
        "': a model that is loaded with `check` or `synchronous` waits for its stubs, which cannot be done while "
        "the stream is captured; load it without");
  }
  const kgen::RelaxedCapture relaxed(api);
  streams.begin(stream, false);
  run_now = nullptr;
  in_callers_graph = true;
  try {
    execute(graph.run, graph.name, call);
  } catch (...) {
    in_callers_graph = false;
    throw;
  }
  in_callers_graph = false;
}

void kgen_model::reset_state() {
  if (states.memory.size() == 0) return;
  if (runs.finished() != nullptr) api.wait(streams.own(), runs.finished());
  api.fill(states.memory.data(), 0, states.memory.size(), streams.own());
  initial_states.copy_to(states, api, streams.own());
  api.wait_for_stream(streams.own());
}

void kgen_model::note_failure(const kgen::Error& error) {
  if (!failure) failure = error;
}

// Memory comes and goes in the order of the model's own stream, as that of the caller may not live as long.
void kgen_model::grow_arena(std::size_t bytes) {
  if (bytes > arena.size()) {
    if (runs.finished() != nullptr) api.wait(streams.own(), runs.finished());
    if (arena_is_captured) captured.push_back(std::move(arena));
    arena.release();
    arena_is_captured = false;
    runs.forget_captures();
    arena = kgen::DeviceBuffer::undefined(api, bytes, streams.own());
    if (in_callers_graph) {
      api.wait_for_stream(streams.own());
    } else {
      streams.order(streams.own(), streams.at(0));
    }
  }
  arena_is_captured |= in_callers_graph;
}

void* kgen_model::workspace(int stream, std::size_t bytes) {
  const auto number = static_cast<std::size_t>(stream);
  if (number >= workspaces.size()) workspaces.resize(number + 1);
  kgen::DeviceBuffer& memory = workspaces[number];
  if (bytes > memory.size()) {
    if (capturing) return nullptr;
    const std::size_t size = std::max(bytes, 2 * memory.size());
    if (memory.size() > 0) captured.push_back(std::move(memory));
    memory = kgen::DeviceBuffer::undefined(api, size, streams.own());
    if (in_callers_graph) {
      api.wait_for_stream(streams.own());
    } else {
      streams.order(streams.own(), streams.at(stream));
    }
  }
  return memory.data();
}

const void* kgen_model::stage_input(int input, const std::byte* values) {
  const kgen::TensorInfo& info = graph.inputs[static_cast<std::size_t>(input)];
  const auto bytes =
      static_cast<std::size_t>(kgen::fixed_count(info) * kgen::element_type_info(info.type).bits / 8);
  if (in_callers_graph) {
    captured.push_back(kgen::DeviceBuffer::undefined(api, bytes, streams.own()));
    api.copy(captured.back().data(), values, bytes, streams.own());
    api.wait_for_stream(streams.own());
    return captured.back().data();
  }
  const std::size_t offset = run_now->place * kgen::host_bytes(graph, graph.inputs.size()) +
                             kgen::host_bytes(graph, static_cast<std::size_t>(input));
  std::memcpy(host_staged.data() + offset, values, bytes);
  api.copy(staged.data() + offset, host_staged.data() + offset, bytes, streams.at(0));
  return staged.data() + offset;
}

void kgen_model::execute(void (*function)(kgen::Call&), const char* name, kgen::Call& call) {
  difference.clear();
  observed.clear();
  failure.reset();
  {
    const kgen::ScratchScope scratch_of_call = call.scratch_scope();
    const kgen::Launch whole = call.launch(name);
    function(call);
  }
  if (failure) throw *failure;
  if (!difference.empty()) throw kgen::Error(KGEN_CHECK_FAILED, difference);
}
