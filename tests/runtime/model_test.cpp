// Loading, state, profiling and introspection.
#include "kgen/runtime/model.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kgen/runtime/call.hpp"
#include "toy_arguments.hpp"

using toy::Outcome;

namespace {

Outcome load(const kgen::GraphInfo& graph, const kgen_load_options& options = {}) {
  kgen_model* model = nullptr;
  const Outcome result = toy::outcome(kgen_model_load(kgen::as_c(graph), &options, &model));
  CHECK((model != nullptr) == (result.status == KGEN_OK));
  kgen_model_free(model);
  return result;
}

// A graph without arguments that runs `body`.
kgen::GraphInfo graph_that_runs(void (*body)(kgen::Call&)) {
  kgen::GraphInfo graph;
  graph.name = "small";
  graph.states = {{.name = "buffer", .type = kgen::ElementType::f32, .shape = {4, 4}}};
  graph.run = body;
  return graph;
}

Outcome run(const kgen::GraphInfo& graph) {
  kgen_model* model = nullptr;
  REQUIRE(kgen_model_load(kgen::as_c(graph), nullptr, &model) == KGEN_OK);
  const Outcome result = toy::outcome(kgen_model_run(model, nullptr, 0, nullptr, 0));
  kgen_model_free(model);
  return result;
}

}  // namespace

TEST_CASE("A graph of another version, without check functions, or with bad options is not loaded") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call&) {});
  CHECK_OUTCOME(load(graph, {nullptr, 0, 1}), KGEN_NOT_CHECKABLE,
                "graph 'small' was emitted without check functions; plan it again with --check");
  CHECK_OUTCOME(load(graph, {nullptr, -2, 0}), KGEN_INVALID_ARGUMENT, "threads is -2, expected 0 or more");
  graph.abi = 77;
  CHECK_OUTCOME(
      load(graph), KGEN_ABI_MISMATCH,
      "the graph was emitted for version 77 of the runtime's interface, but this is version 5; plan it again with "
      "this kgen");
  kgen_tensor_info info;
  CHECK(kgen_graph_input(kgen::as_c(graph), 0, &info) == KGEN_ABI_MISMATCH);
  CHECK(kgen_graph_input_count(kgen::as_c(graph)) == 0);
  CHECK(std::string(kgen_graph_name(nullptr)).empty());
  CHECK(kgen_model_load(nullptr, nullptr, nullptr) == KGEN_INVALID_ARGUMENT);
  CHECK(std::string(kgen_last_error()) == "'graph' is null");
}

TEST_CASE("Buffers whose sizes overflow are errors") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call&) {});
  graph.states[0].shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK_OUTCOME(load(graph), KGEN_TOO_LARGE,
                "the bytes of a buffer of shape [1099511627776, 1099511627776] do not fit into 63 bits");
  graph.states[0].shape = {std::int64_t{1} << 58};
  CHECK_OUTCOME(load(graph), KGEN_OUT_OF_MEMORY, "out of memory");
}

TEST_CASE("An arena whose size overflows, or a value outside it, is an error") {
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call&) {
                  (void)kgen::lay_out({INT64_MAX - 64, 4});
                })),
                KGEN_TOO_LARGE, "the arena does not fit into 63 bits: a slot of 4 bytes at offset 9223372036854775744");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call&) { (void)kgen::lay_out({-8}); })), KGEN_TOO_LARGE,
                "the arena does not fit into 63 bits: a slot of -8 bytes at offset 0");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) { call.arena(64).view<float, 1>(32, {9}); })), KGEN_TOO_LARGE,
                "the arena of 64 bytes cannot hold 36 bytes at offset 32");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) { (void)call.arena(64).part(32).part(33); })), KGEN_TOO_LARGE,
                "the arena of 32 bytes cannot hold 0 bytes at offset 33");
}

TEST_CASE("Slots begin at multiples of 64 bytes") {
  const auto slot = kgen::lay_out({1, 0, 64, 65});
  CHECK(slot[0] == 0);
  CHECK(slot[1] == 64);
  CHECK(slot[2] == 64);
  CHECK(slot[3] == 128);
  CHECK(slot.total == 256);
}

TEST_CASE("The arena grows and keeps its alignment") {
  CHECK(run(graph_that_runs([](kgen::Call& call) {
          const auto* small = call.arena(100).view<float, 1>(0, {25}).data();
          REQUIRE(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
          const auto large = call.arena(1 << 20).view<float, 1>(64, {1000});
          REQUIRE(reinterpret_cast<std::uintptr_t>(large.data()) % 64 == 0);
          large.data()[999] = 1;
          REQUIRE(call.arena(100).view<float, 1>(64, {1}).data() == large.data());  // it does not shrink
        })).status == KGEN_OK);
}

TEST_CASE("What an edited wrapper asks wrongly is an error") {
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) { call.state<float, 1>(0, {4}); })), KGEN_INTERNAL,
                "the wrapper asks for state 'buffer' as f32 of rank 1, but the graph declares f32 of rank 2");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) {
                  call.state<kgen::bf16, 2>(0, {4, 4});
                })),
                KGEN_INTERNAL,
                "the wrapper asks for state 'buffer' as bf16 of rank 2, but the graph declares f32 of rank 2");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) {
                  call.state<float, 2>(0, {4, 5});
                })),
                KGEN_INTERNAL, "the wrapper asks for [4, 5] of state 'buffer', which is [4, 4]");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) {
                  call.state<float, 2>(0, {4, 4}, 1);
                })),
                KGEN_INTERNAL, "the wrapper asks for state 'buffer' of call 1 of 1");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) { call.constant<float, 2>(3); })), KGEN_INTERNAL,
                "the wrapper asks for constant 3 of 0");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call& call) { call.input_extent(0, 0); })), KGEN_INTERNAL,
                "the wrapper asks for input 0 of 0");
}

TEST_CASE("The shapes of outputs are known before they are computed") {
  const toy::ModelPointer model = toy::load_toy();
  toy::Arguments arguments;
  std::int64_t y[2] = {}, sum[1] = {};
  std::int64_t* const shapes[] = {y, sum};
  const auto ask = [&](int inputs, int outputs) {
    return toy::outcome(kgen_model_output_shapes(model.get(), arguments.inputs.data(), inputs, shapes, outputs));
  };
  CHECK_OUTCOME(ask(4, 2), KGEN_OK, "");
  CHECK(y[0] == 2);
  CHECK(y[1] == 6);
  CHECK(sum[0] == 6);
  DLTensor view{};
  REQUIRE(kgen_model_state(model.get(), 2, &view) == KGEN_OK);  // layer.runs[1], which each run counts
  CHECK(static_cast<std::int64_t*>(view.data)[1] == 0);
  CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
  CHECK_OUTCOME(ask(4, 1), KGEN_WRONG_COUNT, "graph 'toy': shapes of 1 outputs were asked for, of 2");
  CHECK_OUTCOME(ask(3, 2), KGEN_WRONG_COUNT, "graph 'toy': 3 inputs were passed, expected 4 [x, gate, mask, position]");
  arguments.x_shape[0] = 9;
  CHECK_OUTCOME(ask(4, 2), KGEN_DIM_OUT_OF_RANGE, "dim M is 9 (axis 0 of input 'x'), expected 1..8");
}

TEST_CASE("A wrapper that launches before it asks for its outputs cannot say their shapes") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) { (void)call.launch("stub"); });
  graph.outputs = {{.name = "y", .type = kgen::ElementType::f32, .dims = {"4"}}};
  kgen_model* model = nullptr;
  REQUIRE(kgen_model_load(kgen::as_c(graph), nullptr, &model) == KGEN_OK);
  std::int64_t extents[1] = {};
  std::int64_t* const shapes[] = {extents};
  CHECK_OUTCOME(toy::outcome(kgen_model_output_shapes(model, nullptr, 0, shapes, 1)), KGEN_INTERNAL,
                "the wrapper of graph 'small' does not ask for all outputs before it launches");
  kgen_model_free(model);
}

TEST_CASE("Exceptions of a wrapper become codes") {
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call&) { throw std::bad_alloc(); })), KGEN_OUT_OF_MEMORY, "out of memory");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call&) { throw std::runtime_error("surprise"); })), KGEN_INTERNAL,
                "surprise");
  CHECK_OUTCOME(run(graph_that_runs([](kgen::Call&) { throw 7; })), KGEN_INTERNAL,
                "an unknown exception left the wrapper");
}

TEST_CASE("State is named, kept between runs, and reset") {
  const auto model = toy::load_toy();
  REQUIRE(kgen_model_state_count(model.get()) == 3);
  const char* name = nullptr;
  REQUIRE(kgen_model_state_name(model.get(), 0, &name) == KGEN_OK);
  CHECK(std::string(name) == "total");
  REQUIRE(kgen_model_state_name(model.get(), 2, &name) == KGEN_OK);
  CHECK(std::string(name) == "layer.runs[1]");
  CHECK(kgen_model_state_name(model.get(), 3, &name) == KGEN_INVALID_ARGUMENT);
  CHECK(std::string(kgen_last_error()) == "state 3 was asked for, but there are 3");

  toy::Arguments arguments;
  REQUIRE(arguments.run(model.get()).status == KGEN_OK);
  REQUIRE(arguments.run(model.get()).status == KGEN_OK);
  DLTensor total, runs, other_runs;
  REQUIRE(kgen_model_state(model.get(), 0, &total) == KGEN_OK);
  REQUIRE(kgen_model_state(model.get(), 1, &other_runs) == KGEN_OK);
  REQUIRE(kgen_model_state(model.get(), 2, &runs) == KGEN_OK);
  CHECK(runs.ndim == 1);
  CHECK(runs.shape[0] == 2);
  CHECK(runs.strides == nullptr);
  CHECK(runs.dtype.code == kDLInt);
  CHECK(runs.dtype.bits == 64);
  CHECK(static_cast<std::int64_t*>(runs.data)[1] == 2);
  CHECK(static_cast<std::int64_t*>(other_runs.data)[1] == 0);
  CHECK(static_cast<float*>(total.data)[1] == 4);

  REQUIRE(kgen_model_reset_state(model.get()) == KGEN_OK);
  CHECK(static_cast<std::int64_t*>(runs.data)[1] == 0);
  CHECK(static_cast<float*>(total.data)[1] == 0);
}

TEST_CASE("State begins as the graph says, also after a reset") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    for (int i = 0; i < 2; ++i) {
      const auto stored = call.state<float, 1>(1, {6}, i);
      for (int at = 0; at < 6; ++at) stored.data()[at] += 100;
    }
    call.state<kgen::bf16, 1>(2, {3}).data()[1] = kgen::bf16(9.0F);
  });
  graph.states.push_back({.name = "f.stored",
                          .type = kgen::ElementType::f32,
                          .shape = {6},
                          .file = "weights.safetensors",
                          .key = "layers.{index}.weight",
                          .calls = 2});
  graph.states.push_back({.name = "half", .type = kgen::ElementType::bf16, .shape = {3}, .values = {0.5}});
  kgen_load_options options = {};
  options.weights_directory = toy::weights_folder;
  kgen_model* model = nullptr;
  REQUIRE(kgen_model_load(kgen::as_c(graph), &options, &model) == KGEN_OK);
  const toy::ModelPointer owner(model, kgen_model_free);
  const auto check = [&] {
    DLTensor buffer, first, second, half;
    REQUIRE(kgen_model_state(model, 0, &buffer) == KGEN_OK);
    REQUIRE(kgen_model_state(model, 1, &first) == KGEN_OK);
    REQUIRE(kgen_model_state(model, 2, &second) == KGEN_OK);
    REQUIRE(kgen_model_state(model, 3, &half) == KGEN_OK);
    CHECK(static_cast<float*>(buffer.data)[7] == 0);
    for (int at = 0; at < 6; ++at) {
      CHECK(static_cast<float*>(first.data)[at] == static_cast<float>(at + 1));
      CHECK(static_cast<float*>(second.data)[at] == static_cast<float>(10 * (at + 1)));
    }
    for (int at = 0; at < 3; ++at) CHECK(static_cast<float>(static_cast<kgen::bf16*>(half.data)[at]) == 0.5F);
  };
  check();
  REQUIRE(kgen_model_run(model, nullptr, 0, nullptr, 0) == KGEN_OK);
  DLTensor second;
  REQUIRE(kgen_model_state(model, 2, &second) == KGEN_OK);
  CHECK(static_cast<float*>(second.data)[0] == 110);
  REQUIRE(kgen_model_reset_state(model) == KGEN_OK);
  check();
  graph.states[1].shape = {7};
  const Outcome outcome = load(graph, options);
  CHECK(outcome.status == KGEN_BAD_WEIGHTS);
  CHECK(outcome.message.ends_with("tensor 'layers.0.weight' is F32[6], expected F32[7]"));
}

TEST_CASE("A graph describes its tensors") {
  const kgen_graph* graph = kgen_graph_toy();
  CHECK(std::string(kgen_graph_name(graph)) == "toy");
  CHECK(kgen_graph_input_count(graph) == 4);
  CHECK(kgen_graph_output_count(graph) == 2);
  kgen_tensor_info info;
  REQUIRE(kgen_graph_input(graph, 1, &info) == KGEN_OK);
  CHECK(std::string(info.name) == "gate");
  CHECK(std::string(info.dtype_name) == "f32");
  CHECK(info.rank == 2);
  CHECK(std::string(info.dims[1]) == "2*D");
  CHECK(info.strided == 1);
  REQUIRE(kgen_graph_input(graph, 2, &info) == KGEN_OK);
  CHECK(info.dtype.code == KGEN_DL_BOOL);
  CHECK(info.strided == 0);
  CHECK(kgen_graph_output(graph, 2, &info) == KGEN_INVALID_ARGUMENT);
  CHECK(std::string(kgen_last_error()) == "output 2 was asked for, but there are 2");
}

TEST_CASE("Profiling sums the time of each stub and writes a trace") {
  const toy::TemporaryFolder folder;
  const auto model = toy::load_toy();
  toy::Arguments arguments;
  REQUIRE(arguments.run(model.get()).status == KGEN_OK);  // before the start: not recorded
  REQUIRE(kgen_model_profile_start(model.get()) == KGEN_OK);
  for (int i = 0; i < 3; ++i) REQUIRE(arguments.run(model.get()).status == KGEN_OK);
  REQUIRE(kgen_model_profile_stop(model.get(), folder.path("trace.json").c_str()) == KGEN_OK);
  REQUIRE(arguments.run(model.get()).status == KGEN_OK);  // after the stop: not recorded

  std::map<std::string, kgen_profile_entry> entries;
  std::int64_t previous = INT64_MAX;
  for (int i = 0; i < kgen_model_profile_count(model.get()); ++i) {
    kgen_profile_entry entry;
    REQUIRE(kgen_model_profile_get(model.get(), i, &entry) == KGEN_OK);
    CHECK(entry.total_ns <= previous);
    previous = entry.total_ns;
    entries[entry.name] = entry;
  }
  REQUIRE(entries.size() == 4);
  CHECK(entries["toy"].count == 3);
  CHECK(entries["stub_y"].count == 3);
  CHECK(entries["stub_total"].count == 6);
  CHECK(entries["stub_sum"].count == 6);
  CHECK(entries["stub_y"].total_ns > 0);
  CHECK(entries["toy"].total_ns >= entries["stub_y"].total_ns + entries["stub_total"].total_ns);

  std::ifstream file(folder.path("trace.json"));
  const auto trace = nlohmann::json::parse(file);
  REQUIRE(trace["traceEvents"].size() == 18);
  for (const auto& event : trace["traceEvents"]) {
    CHECK(event["ph"] == "X");
    CHECK(event["ts"].get<double>() >= 0);
    CHECK(event["dur"].get<double>() >= 0);
    CHECK(entries.contains(event["name"].get<std::string>()));
  }

  REQUIRE(kgen_model_profile_start(model.get()) == KGEN_OK);
  CHECK(kgen_model_profile_stop(model.get(), folder.path("missing/trace.json").c_str()) == KGEN_FILE_ERROR);
  CHECK(kgen_last_error() == "cannot write '" + folder.path("missing/trace.json") + "': No such file or directory");
  CHECK(kgen_model_profile_count(model.get()) == 0);
}

TEST_CASE("The C++ API runs a model on tensors that it owns") {
  kgen_load_options options = {};
  options.weights_directory = toy::weights_folder;
  options.threads = 2;
  kgen::Model model(kgen_graph_toy(), options);
  CHECK(model.graph() == kgen_graph_toy());

  const std::vector<float> values = {1, 2, 3, 4};
  const kgen::Tensor x = kgen::Tensor::of<float>({1, 4}, values);
  const kgen::Tensor gate(kgen::ElementType::f32, {1, 4});
  const kgen::Tensor mask(kgen::ElementType::boolean, {6});
  const kgen::Tensor position(kgen::ElementType::i64, {});
  kgen::Tensor y(kgen::ElementType::f32, {1, 4});
  kgen::Tensor sum(kgen::ElementType::f32, {6});
  model.profile_start();
  model.run({&x, &gate, &mask, &position}, {&y, &sum});
  model.profile_stop();
  CHECK(y.values<float>()[3] == 2);
  CHECK(model.profile().size() == 4);
  CHECK(model.state_names() == std::vector<std::string>{"total", "layer.runs[0]", "layer.runs[1]"});
  CHECK(static_cast<float*>(model.state("total").data)[3] == 2);
  model.reset_state();
  CHECK(static_cast<float*>(model.state("total").data)[3] == 0);

  try {
    model.run({&x, &gate, &mask, &position}, {&sum, &y});
    FAIL("expected an error");
  } catch (const kgen::Error& error) {
    CHECK(error.status() == KGEN_WRONG_RANK);
    CHECK(std::string(error.what()) == "output 'y': the rank is 1, expected 2 [M, 2*D]");
  }
  CHECK_THROWS_WITH(model.state("cache"), "there is no state 'cache' in [total, layer.runs[0], layer.runs[1]]");
}

TEST_CASE("Tensors check their shapes and types") {
  kgen::Tensor tensor(kgen::ElementType::bf16, {2, 3});
  CHECK(tensor.element_count() == 6);
  CHECK(tensor.bytes() == 12);
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
  CHECK(static_cast<float>(tensor.values<kgen::bf16>()[5]) == 0);
  const std::vector<float> values(5);
  CHECK_THROWS_WITH(tensor.values<float>(), "the tensor holds bf16, not f32");
  CHECK_THROWS_WITH(kgen::Tensor::of<float>({2, 3}, values), "5 values were given for the shape [2, 3]");
  CHECK_THROWS_WITH(kgen::Tensor(kgen::ElementType::f32, {2, -3}), "a buffer of shape [2, -3] has a negative extent");
}
