// What a model asks of a GPU, seen through one that logs it.
#include "kgen/runtime/device.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fake_device.hpp"
#include "kgen/runtime/call.hpp"
#include "kgen/runtime/model.hpp"
#include "toy_arguments.hpp"

using Log = std::vector<std::string>;
using toy::Outcome;

namespace {

// A graph without arguments on the fake device. `body` logs its launches as "push" lines.
kgen::GraphInfo graph_that_runs(void (*body)(kgen::Call&)) {
  kgen::GraphInfo graph;
  graph.name = "small";
  graph.run = body;
  graph.device = &fake::device;
  return graph;
}

void launch(kgen::Call& call, const char* stub, const kgen::LaunchOrder& order = {}) {
  const kgen::Launch one = call.launch(stub, order);
}

toy::ModelPointer load(const kgen::GraphInfo& graph, const kgen_load_options& options = {}) {
  kgen_model* model = nullptr;
  const kgen_status status = kgen_model_load(kgen::as_c(graph), &options, &model);
  REQUIRE_MESSAGE(status == KGEN_OK, kgen_last_error());
  fake::take_log();
  return {model, kgen_model_free};
}

Outcome run(kgen_model* model) { return toy::outcome(kgen_model_run(model, nullptr, 0, nullptr, 0)); }

// The toy graph on the fake device. Its position is the host's.
kgen::GraphInfo toy_on_device() {
  kgen::GraphInfo graph = toy::graph();
  graph.device = &fake::device;
  graph.inputs[3].on_host = true;
  return graph;
}

// Arguments that claim to be on device 0.
struct DeviceArguments : toy::Arguments {
  DeviceArguments() {
    for (DLTensor* tensor : {&x, &gate, &mask, &y, &sum}) tensor->device = {kDLCUDA, 0};
  }
};

toy::ModelPointer load_toy_on_device(kgen_load_options options = {}) {
  static const kgen::GraphInfo graph = toy_on_device();
  options.weights_directory = toy::weights_folder;
  return load(graph, options);
}

// Streams and events ("s4", "e7") numbered anew, each kind in the order in which it appears.
Log renumbered(const Log& log) {
  std::map<std::string, std::string> names;
  std::map<char, int> count;
  Log result;
  for (const std::string& line : log) {
    std::istringstream words(line);
    std::string text, word;
    while (words >> word) {
      const auto is_digit = [&](std::size_t i) { return std::isdigit(static_cast<unsigned char>(word[i])) != 0; };
      const bool is_handle = word.size() > 1 && !is_digit(0) && is_digit(1);
      if (is_handle && !names.contains(word)) names[word] = word[0] + std::to_string(count[word[0]]++);
      text.append(text.empty() ? "" : " ").append(is_handle ? names[word] : word);
    }
    result.push_back(text);
  }
  return result;
}

// q, k and v of an attention: k and v on streams of their own.
void fork_and_join(kgen::Call& call) {
  const auto streams = call.fork(3);
  launch(call, "normed", {.signal = 0});
  launch(call, "q");
  launch(call, "k", {.stream = 1, .wait = {0}, .signal = 1});
  launch(call, "v", {.stream = 2, .wait = {0}, .signal = 2});
  launch(call, "attended", {.wait = {1, 2}});
}

}  // namespace

TEST_CASE("Streams are ordered by the events of the wrapper and nothing else") {
  const kgen::GraphInfo graph = graph_that_runs(fork_and_join);
  const auto model = load(graph);
  REQUIRE(run(model.get()).status == KGEN_OK);
  const Log log = renumbered(fake::only(fake::take_log(), {"record", "wait", "push"}));
  CHECK(log == Log{"push small",
                   // the fork
                   "record e0 s0", "wait s1 e0", "record e0 s0", "wait s2 e0", "push normed", "record e1 s0", "push q",
                   "wait s1 e1", "push k", "record e2 s1", "wait s2 e1", "push v", "record e3 s2", "wait s0 e2",
                   "wait s0 e3", "push attended",
                   // the join
                   "record e0 s1", "wait s0 e0", "record e0 s2", "wait s0 e0",
                   // the run's own end
                   "record e4 s0"});
}

TEST_CASE("With `synchronous` there is one stream, and every stub is waited for") {
  const kgen::GraphInfo graph = graph_that_runs(fork_and_join);
  const auto model = load(graph, {.synchronous = 1});
  for (int i = 0; i < 3; ++i) REQUIRE(run(model.get()).status == KGEN_OK);
  const Log log = fake::take_log();
  CHECK(fake::only(log, {"begin_capture", "replay"}).empty());
  CHECK(fake::only(log, {"wait_for_stream"}).size() == 3 * (5 + 1 + 1));  // stubs, the whole, and the run
  for (const std::string& line : fake::only(log, {"wait_for_stream"})) CHECK(line == log.at(log.size() - 1));
}

TEST_CASE("A run that comes again is captured, and from then on is one launch") {
  static int runs = 0;
  runs = 0;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    ++runs;
    (void)call.arena(1000);
    launch(call, "stub");
  });
  const auto model = load(graph);
  REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(runs == 1);
  CHECK(fake::only(fake::take_log(), {"begin_capture", "replay"}).empty());
  REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(runs == 2);
  const Log second = fake::only(fake::take_log(), {"begin_capture", "end_capture", "replay"});
  REQUIRE(second.size() == 3);
  CHECK(second[0].starts_with("begin_capture s"));
  CHECK(second[2].starts_with("replay r"));
  for (int i = 0; i < 5; ++i) REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(runs == 2);
  CHECK(fake::only(fake::take_log(), {"begin_capture", "replay"}) == Log(5, second[2]));
}

TEST_CASE("Another pointer, size or value of a host scalar is another run") {
  const auto model = load_toy_on_device();
  DeviceArguments arguments;
  const auto replays = [&] {
    CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
    return fake::only(fake::take_log(), {"replay"}).size();
  };
  CHECK(replays() == 0);
  CHECK(replays() == 1);
  arguments.position_values[0] = 2;
  CHECK(replays() == 0);
  arguments.y.byte_offset = 64;
  CHECK(replays() == 0);
  arguments.x_shape[0] = arguments.gate_shape[0] = arguments.y_shape[0] = 1;
  CHECK(replays() == 0);
  CHECK(replays() == 1);
  arguments.position_values[0] = 99;  // what the wrapper refuses stays refused
  for (int i = 0; i < 3; ++i) {
    CHECK_OUTCOME(arguments.run(model.get()), KGEN_DIM_OUT_OF_RANGE,
                  "dim P is 99 (the value of input 'position'), expected 0..6");
  }
}

TEST_CASE("Runs that are captured again when the arena has moved") {
  static std::int64_t bytes = 0;
  bytes = 1000;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    (void)call.arena(bytes);
    launch(call, "stub");
  });
  const auto model = load(graph, {});
  for (int i = 0; i < 2; ++i) REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"allocate"}).size() == 1);
  // Profiled runs are not replayed, so this one grows the arena.
  bytes = 5000;
  REQUIRE(kgen_model_profile_start(model.get()) == KGEN_OK);
  REQUIRE(run(model.get()).status == KGEN_OK);
  REQUIRE(kgen_model_profile_stop(model.get(), nullptr) == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"allocate", "free"}).size() == 2);
  REQUIRE(run(model.get()).status == KGEN_OK);
  const Log log = fake::only(fake::take_log(), {"end_capture", "replay", "allocate"});
  REQUIRE(log.size() == 2);
  CHECK(log[0].find(" into r") != std::string::npos);  // made over, not made anew
}

TEST_CASE("The oldest run gives way when there are many") {
  const auto model = load_toy_on_device();
  DeviceArguments arguments;
  const auto run_at = [&](int offset) {
    arguments.y.byte_offset = static_cast<std::uint64_t>(offset) * 4;
    CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
    return fake::only(fake::take_log(), {"replay"}).size();
  };
  for (int i = 0; i < 16; ++i) CHECK(run_at(i) == 0);
  for (int i = 0; i < 16; ++i) CHECK(run_at(i) == 1);
  CHECK(run_at(16) == 0);  // takes the place of 0
  CHECK(run_at(1) == 1);
  CHECK(run_at(0) == 0);
}

TEST_CASE("On a stream of the caller's nothing is waited for, and runs follow each other") {
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) { launch(call, "stub"); });
  const auto model = load(graph, {.eager = 1});
  const auto run_on = [&](kgen::StreamHandle stream) {
    REQUIRE(kgen_model_run_on(model.get(), nullptr, 0, nullptr, 0, stream) == KGEN_OK);
    return fake::only(fake::take_log(), {"wait", "wait_for_stream", "record"});
  };
  const Log first = run_on(fake::stream(1));
  REQUIRE(first.size() == 1);
  CHECK(first[0].starts_with("record e"));
  const std::string finished = first[0].substr(7, first[0].find(' ', 7) - 7);
  const Log second = run_on(fake::stream(2));
  REQUIRE(second.size() == 2);
  CHECK(second[0] == "wait user " + finished);
}

TEST_CASE("A run on a stream that the caller captures becomes part of the caller's graph") {
  static std::int64_t bytes = 0;
  bytes = 1000;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    (void)call.arena(bytes);
    fork_and_join(call);
  });
  const auto model = load(graph);
  const auto run_captured = [&] {
    fake::take_log();
    fake::capture_by_user(fake::stream(1));
    const Outcome result = toy::outcome(kgen_model_run_on(model.get(), nullptr, 0, nullptr, 0, fake::stream(1)));
    fake::capture_by_user(nullptr);
    CHECK_OUTCOME(result, KGEN_OK, "");
    return fake::take_log();
  };
  const Log around = {"capture_mode", "allocate", "free", "wait_for_stream", "begin_capture", "replay"};
  // What the graph needs is made on the model's own stream, and is there before the graph is replayed.
  CHECK(renumbered(fake::only(run_captured(), around)) ==
        Log{"capture_mode 2", "allocate 1024 s0", "wait_for_stream s0", "capture_mode 0"});
  CHECK(fake::only(run_captured(), around) == Log{"capture_mode 2", "capture_mode 0"});
  // Its branches are captured with it; nothing waits for a run outside of it, and none will wait for it.
  for (int i = 0; i < 3; ++i) REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(renumbered(fake::only(run_captured(), {"record", "wait"})) ==
        Log{"record e0 user", "wait s0 e0", "record e0 user", "wait s1 e0", "record e1 user", "wait s0 e1",
            "record e2 s0", "wait s1 e1", "record e3 s1", "wait user e2", "wait user e3", "record e0 s0",
            "wait user e0", "record e0 s1", "wait user e0"});
  // A graph that was captured keeps the arena that it points into.
  bytes = 5000;
  fake::take_log();
  REQUIRE(kgen_model_run_on(model.get(), nullptr, 0, nullptr, 0, fake::stream(2)) == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"allocate", "free"}).size() == 0);  // known, and replayed
  REQUIRE(kgen_model_profile_start(model.get()) == KGEN_OK);
  REQUIRE(run(model.get()).status == KGEN_OK);
  REQUIRE(kgen_model_profile_stop(model.get(), nullptr) == KGEN_OK);
  CHECK(renumbered(fake::only(fake::take_log(), {"allocate", "free"})) == Log{"allocate 5056 s0"});
}

TEST_CASE("A scalar of the host in a caller's graph keeps its value") {
  static std::vector<const std::int64_t*> seen;
  seen.clear();
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    seen.push_back(call.input<std::int64_t, 0>(0, {}).data());
    launch(call, "stub");
  });
  graph.inputs = {{.name = "position", .type = kgen::ElementType::i64, .dims = {}, .on_host = true}};
  const auto model = load(graph);
  std::int64_t held = 0;
  DLTensor tensor{};
  tensor.data = &held;
  tensor.device = {kDLCPU, 0};
  tensor.dtype = {kDLInt, 64, 1};
  const DLTensor* inputs[] = {&tensor};
  const auto run_with = [&](std::int64_t value) {
    held = value;
    CHECK_OUTCOME(toy::outcome(kgen_model_run_on(model.get(), inputs, 1, nullptr, 0, fake::stream(1))), KGEN_OK, "");
  };
  fake::capture_by_user(fake::stream(1));
  run_with(7);
  run_with(8);
  fake::capture_by_user(nullptr);
  for (std::int64_t value = 100; value < 140; ++value) run_with(value);
  CHECK(fake::is_device_memory(seen[0]));
  CHECK(*seen[0] == 7);
  CHECK(*seen[1] == 8);
}

TEST_CASE("A model that waits for its stubs cannot be captured") {
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) { launch(call, "stub"); });
  const auto model = load(graph, {.synchronous = 1});
  fake::capture_by_user(fake::stream(1));
  const Outcome result = toy::outcome(kgen_model_run_on(model.get(), nullptr, 0, nullptr, 0, fake::stream(1)));
  fake::capture_by_user(nullptr);
  CHECK_OUTCOME(result, KGEN_INVALID_ARGUMENT,
                "graph 'small': a model that is loaded with `check` or `synchronous` waits for its stubs, which cannot "
                "be done while the stream is captured; load it without");
  CHECK(fake::only(fake::take_log(), {"push"}).empty());
  CHECK_OUTCOME(run(model.get()), KGEN_OK, "");
}

TEST_CASE("Arguments on another device are errors that say so") {
  const auto model = load_toy_on_device();
  const auto run_spoilt = [&](const std::function<void(DeviceArguments&)>& spoil) {
    DeviceArguments arguments;
    spoil(arguments);
    const Outcome result = arguments.run(model.get());
    CHECK(arguments.outputs_untouched());
    CHECK(fake::only(fake::take_log(), {"push"}).empty());
    return result;
  };
  CHECK_OUTCOME(run_spoilt([](DeviceArguments& a) {
                  a.x.device = {kDLCPU, 0};
                }),
                KGEN_WRONG_DEVICE, "input 'x': the memory is on cpu, expected cuda:0, where the model is");
  CHECK_OUTCOME(run_spoilt([](DeviceArguments& a) {
                  a.y.device = {kDLCUDA, 1};
                }),
                KGEN_WRONG_DEVICE, "output 'y': the memory is on cuda:1, expected cuda:0, where the model is");
  CHECK_OUTCOME(run_spoilt([](DeviceArguments& a) {
                  a.gate.device = {kDLROCM, 0};
                }),
                KGEN_WRONG_DEVICE, "input 'gate': the memory is on rocm:0, expected cuda:0, where the model is");
  CHECK_OUTCOME(run_spoilt([](DeviceArguments& a) {
                  a.gate.device = {kDLROCMHost, 0};
                }),
                KGEN_WRONG_DEVICE,
                "input 'gate': the memory is on pinned host memory (rocm), expected cuda:0, where the model is");
  CHECK_OUTCOME(run_spoilt([](DeviceArguments& a) {
                  a.mask.device = {kDLMetal, 3};
                }),
                KGEN_WRONG_DEVICE,
                "input 'mask': the memory is on DLPack device type 8 number 3, expected cuda:0, where the model is");
  CHECK_OUTCOME(run_spoilt([](DeviceArguments& a) {
                  a.position.device = {kDLCUDA, 0};
                }),
                KGEN_WRONG_DEVICE, "input 'position': the memory is on cuda:0, expected cpu: sizes are read from it");
}

TEST_CASE("Pinned and managed memory are where they can be read") {
  const auto model = load_toy_on_device();
  DeviceArguments arguments;
  arguments.x.device = {kDLCUDAHost, 0};
  arguments.gate.device = {kDLCUDAManaged, 0};
  arguments.position.device = {kDLCUDAHost, 0};
  CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
  CHECK(arguments.y_values[0] == 2);
}

TEST_CASE("Models on several devices") {
  const auto first = load_toy_on_device();
  const auto second = load_toy_on_device({.device = 1});
  CHECK(fake::selected_device() == 0);  // the caller's stays selected
  DLDevice device;
  REQUIRE(kgen_model_device(second.get(), &device) == KGEN_OK);
  CHECK(device.device_type == kDLCUDA);
  CHECK(device.device_id == 1);
  DLTensor state;
  REQUIRE(kgen_model_state(second.get(), 0, &state) == KGEN_OK);
  CHECK(state.device.device_id == 1);
  CHECK(fake::is_device_memory(state.data));

  DeviceArguments arguments;
  CHECK_OUTCOME(arguments.run(second.get()), KGEN_WRONG_DEVICE,
                "input 'x': the memory is on cuda:0, expected cuda:1, where the model is");
  for (DLTensor* tensor : {&arguments.x, &arguments.gate, &arguments.mask, &arguments.y, &arguments.sum}) {
    tensor->device.device_id = 1;
  }
  CHECK_OUTCOME(arguments.run(second.get()), KGEN_OK, "");
  CHECK(arguments.y_values[0] == 2);

  kgen_model* none = nullptr;
  static const kgen::GraphInfo graph = toy_on_device();
  const kgen_load_options options = {.weights_directory = toy::weights_folder, .device = 2};
  CHECK_OUTCOME(toy::outcome(kgen_model_load(kgen::as_c(graph), &options, &none)), KGEN_INVALID_ARGUMENT,
                "device 2 was asked for, but fake has 2");
  fake::fail_at("count", 0, KGEN_DEVICE_ERROR, "fakeCount: no driver (fakeErrorNoDriver)");
  CHECK_OUTCOME(toy::outcome(kgen_model_load(kgen::as_c(graph), &options, &none)), KGEN_DEVICE_ERROR,
                "loading graph 'toy': fakeCount: no driver (fakeErrorNoDriver)");
}

TEST_CASE("Constants, states and results of load are the device's, and everything is given back") {
  const int before = fake::live_handles();
  {
    static const kgen::GraphInfo graph = toy_on_device();
    const kgen_load_options options = {.weights_directory = toy::weights_folder};
    kgen_model* loaded = nullptr;
    fake::take_log();
    REQUIRE(kgen_model_load(kgen::as_c(graph), &options, &loaded) == KGEN_OK);
    const toy::ModelPointer model(loaded, kgen_model_free);
    const Log log = fake::take_log();
    CHECK(fake::only(log, {"copy"}).size() == 3);  // scale, and weight of two calls
    CHECK(fake::only(log, {"push"}) == Log{"push load", "push stub_doubled", "push stub_doubled"});
    CHECK(log.back().starts_with("wait_for_stream"));
    DeviceArguments arguments;
    for (int i = 0; i < 3; ++i) CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
    CHECK(arguments.sum_values[0] == 22);
    REQUIRE(kgen_model_reset_state(model.get()) == KGEN_OK);
    DLTensor total;
    REQUIRE(kgen_model_state(model.get(), 0, &total) == KGEN_OK);
    CHECK(static_cast<float*>(total.data)[1] == 0);
    CHECK(fake::live_handles() > before);
  }
  CHECK(fake::live_handles() == before);
}

TEST_CASE("What a state begins as is brought to the device once, and copied there at a reset") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) { call.state<float, 1>(0, {3}).data()[2] = 9; });
  graph.states = {{.name = "s", .type = kgen::ElementType::f32, .shape = {3}, .values = {0.5, 1.5, 2.5}}};
  const toy::ModelPointer model = load(graph);
  DLTensor state;
  REQUIRE(kgen_model_state(model.get(), 0, &state) == KGEN_OK);
  CHECK(static_cast<float*>(state.data)[2] == 2.5F);
  CHECK_OUTCOME(run(model.get()), KGEN_OK, "");
  CHECK(static_cast<float*>(state.data)[2] == 9);
  fake::take_log();
  REQUIRE(kgen_model_reset_state(model.get()) == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"copy"}).size() == 1);
  CHECK(static_cast<float*>(state.data)[2] == 2.5F);
}

TEST_CASE("A constant larger than the staging buffers arrives whole") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    const auto large = call.constant<std::int32_t, 1>(0);
    for (std::int64_t i = 0; i < large.extent(0); i += 4093) REQUIRE(large.data()[i] == i);
    REQUIRE(large.data()[large.extent(0) - 1] == large.extent(0) - 1);
  });
  const std::int64_t count = (std::int64_t{5} << 20) + 3;  // 20 MiB and a little
  graph.constants = {{.name = "empty", .type = kgen::ElementType::i32, .shape = {0}},
                     {.name = "large", .type = kgen::ElementType::i32, .shape = {count}}};
  std::swap(graph.constants[0], graph.constants[1]);
  for (std::int64_t i = 0; i < count; ++i) graph.constants[0].values.push_back(static_cast<double>(i));
  graph.constants[1].values = {0};
  kgen_model* model = nullptr;
  fake::take_log();
  REQUIRE(kgen_model_load(kgen::as_c(graph), nullptr, &model) == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"copy"}).size() == 3);
  CHECK(run(model).status == KGEN_OK);
  kgen_model_free(model);
}

TEST_CASE("What sizes are read from, and a stub reads, is staged for each run") {
  kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    const std::int64_t first = call.input_scalar(0), last = call.dim("N", 0, 50, call.input_element(1, 2));
    const auto position = call.input<std::int64_t, 0>(0, {});
    const auto sizes = call.input<std::int32_t, 1>(1, {3});
    CHECK((fake::is_device_memory(position.data()) && fake::is_device_memory(sizes.data())));
    CHECK((*position.data() == first && sizes.data()[0] == first && sizes.data()[2] == last));
    launch(call, "stub");
  });
  graph.inputs = {{.name = "position", .type = kgen::ElementType::i64, .dims = {}, .on_host = true},
                  {.name = "sizes", .type = kgen::ElementType::i32, .dims = {"3"}, .on_host = true}};
  const auto model = load(graph);
  std::vector<std::int64_t> first(1), shape{3}, none;
  std::vector<std::int32_t> held(3);
  DLTensor scalar = toy::tensor_of(first, none, {kDLInt, 64, 1}), line = toy::tensor_of(held, shape, {kDLInt, 32, 1});
  const DLTensor* inputs[]{&scalar, &line};
  const auto outcome = [&] { return toy::outcome(kgen_model_run(model.get(), inputs, 2, nullptr, 0)); };
  for (std::int32_t value = 0; value < 40; first[0] = held[0] = held[2] = ++value / 2) {
    CHECK_OUTCOME(outcome(), KGEN_OK, "");
  }
  held[2] = -1;
  CHECK_OUTCOME(outcome(), KGEN_DIM_OUT_OF_RANGE, "dim N is -1 (element 2 of input 'sizes'), expected 0..50");
  shape[0] = 2;
  CHECK_OUTCOME(outcome(), KGEN_WRONG_EXTENT, "input 'sizes': axis 0 is 2, expected 3");
}

TEST_CASE("Errors of the device name the graph and the stub") {
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    (void)call.arena(640);
    launch(call, "stub_a", {.signal = 0});
    launch(call, "stub_b", {.stream = 1, .wait = {0}});
  });
  const auto run_with = [&](const std::function<void()>& prepare, const kgen_load_options& options = {}) {
    const auto model = load(graph, options);
    prepare();
    const Outcome result = run(model.get());
    CHECK_OUTCOME(run(model.get()), KGEN_OK, "");  // the fake's errors do not last
    return result;
  };
  const auto fail_at = [](const char* call, int after) {
    return [=] { fake::fail_at(call, after, KGEN_DEVICE_ERROR, "fakeCall: it broke (fakeErrorBroken)"); };
  };
  CHECK_OUTCOME(
      run_with([] { fake::fail_at("allocate", 0, KGEN_OUT_OF_MEMORY, "fakeMalloc of 640 bytes: none left"); }),
      KGEN_OUT_OF_MEMORY, "graph 'small': fakeMalloc of 640 bytes: none left");
  CHECK_OUTCOME(run_with(fail_at("wait", 0)), KGEN_DEVICE_ERROR,
                "graph 'small': stub_b: fakeCall: it broke (fakeErrorBroken)");
  CHECK_OUTCOME(run_with(fail_at("record", 0)), KGEN_DEVICE_ERROR,
                "graph 'small': stub_a: fakeCall: it broke (fakeErrorBroken)");
  CHECK_OUTCOME(run_with(fail_at("wait_for_stream", 0)), KGEN_DEVICE_ERROR,
                "graph 'small': fakeCall: it broke (fakeErrorBroken); a kernel of this run or of one before it failed: "
                "load the model with `synchronous` to learn which");
  CHECK_OUTCOME(run_with(fail_at("wait_for_stream", 1), {.synchronous = 1}), KGEN_DEVICE_ERROR,
                "graph 'small': stub_b: fakeCall: it broke (fakeErrorBroken)");
  CHECK_OUTCOME(run_with([] { fake::set_launch_error("too many threads (fakeErrorConfiguration)"); }),
                KGEN_DEVICE_ERROR,
                "graph 'small': an error was left by what ran before it on this thread: too many threads "
                "(fakeErrorConfiguration)");
}

TEST_CASE("A launch that fails names its stub, and what follows it is not launched") {
  static bool bad = true;
  bad = true;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    {
      const kgen::Launch first = call.launch("stub_a");
      if (bad) fake::set_launch_error("too many threads (fakeErrorConfiguration)");
    }
    launch(call, "stub_b");
  });
  const auto model = load(graph);
  CHECK_OUTCOME(run(model.get()), KGEN_DEVICE_ERROR,
                "graph 'small': stub_a: the launch failed: too many threads (fakeErrorConfiguration)");
  CHECK(fake::only(fake::take_log(), {"push"}) == Log{"push small", "push stub_a"});
  bad = false;
  CHECK_OUTCOME(run(model.get()), KGEN_OK, "");
  CHECK(fake::only(fake::take_log(), {"begin_capture"}).empty());  // the run that failed does not count as made
}

TEST_CASE("What a kernel throws where it cannot be launched is an error of the device") {
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    const kgen::Launch one = call.launch("stub_a");
    throw std::runtime_error("stub_a: launching rows of 0 blocks failed");
  });
  const auto model = load(graph);
  CHECK_OUTCOME(run(model.get()), KGEN_DEVICE_ERROR, "graph 'small': stub_a: launching rows of 0 blocks failed");
}

TEST_CASE("An error while a run is captured ends the capture") {
  static int runs = 0;
  runs = 0;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    launch(call, "stub_a");
    if (++runs == 2) throw kgen::Error(KGEN_DEVICE_ERROR, "fakeCall: not while a stream is captured");
  });
  const auto model = load(graph);
  CHECK_OUTCOME(run(model.get()), KGEN_OK, "");
  CHECK_OUTCOME(run(model.get()), KGEN_DEVICE_ERROR, "graph 'small': fakeCall: not while a stream is captured");
  CHECK(fake::only(fake::take_log(), {"discard_capture", "replay"}).size() == 1);
  fake::fail_at("end_capture", 0, KGEN_DEVICE_ERROR, "fakeEndCapture: unjoined work");
  CHECK_OUTCOME(run(model.get()), KGEN_OK, "");  // launched stub by stub again
  CHECK_OUTCOME(run(model.get()), KGEN_DEVICE_ERROR, "graph 'small': fakeEndCapture: unjoined work");
  CHECK_OUTCOME(run(model.get()), KGEN_OK, "");
}

TEST_CASE("Profiling takes the time of each stub on its own stream, without replay") {
  const toy::TemporaryFolder folder;
  const kgen::GraphInfo graph = graph_that_runs(fork_and_join);
  const auto model = load(graph);
  for (int i = 0; i < 2; ++i) REQUIRE(run(model.get()).status == KGEN_OK);
  REQUIRE(kgen_model_profile_start(model.get()) == KGEN_OK);
  fake::take_log();
  REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"replay"}).empty());
  REQUIRE(kgen_model_profile_stop(model.get(), folder.path("trace.json").c_str()) == KGEN_OK);
  CHECK(kgen_model_profile_count(model.get()) == 6);
  std::ifstream file(folder.path("trace.json"));
  const auto trace = nlohmann::json::parse(file);
  std::map<std::string, int> stream_of;
  for (const auto& event : trace["traceEvents"]) {
    stream_of[event["name"].get<std::string>()] = event["tid"].get<int>();
    CHECK(event["ts"].get<double>() >= 0);
    CHECK(event["dur"].get<double>() > 0);
  }
  CHECK(stream_of ==
        std::map<std::string, int>{{"small", 1}, {"normed", 1}, {"q", 1}, {"k", 2}, {"v", 3}, {"attended", 1}});
  fake::take_log();
  REQUIRE(run(model.get()).status == KGEN_OK);
  CHECK(fake::only(fake::take_log(), {"replay"}).size() == 1);
}

TEST_CASE("Check mode compares what is on the device") {
  toy::error_of_stub_y = 0;
  const auto model = load_toy_on_device({.check = 1});
  DeviceArguments arguments;
  CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
  CHECK(fake::only(fake::take_log(), {"copy"}).size() == 2);  // y and its reference, to the host
  toy::error_of_stub_y = 1;
  const Outcome wrong = arguments.run(model.get());
  toy::error_of_stub_y = 0;
  CHECK(wrong.status == KGEN_CHECK_FAILED);
  CHECK(
      wrong.message.starts_with("stub 'stub_y' differs from its unfused reference at operator 'add' (toy.yaml:12): "
                                "element [0, 0] is 3, expected 2"));
}

TEST_CASE("Tensors of a device") {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const kgen::Tensor host = kgen::Tensor::of<float>({2, 3}, values);
  const kgen::Tensor there = host.to(fake::device, 1);
  CHECK(fake::is_device_memory(there.data()));
  CHECK(there.dlpack().device.device_type == kDLCUDA);
  CHECK(there.dlpack().device.device_id == 1);
  CHECK_THROWS_WITH(there.values<float>(),
                    "the tensor is on cuda:1; to(kgen::cpu_device) copies it to where it can be read");
  CHECK(there.to(kgen::cpu_device).values<float>()[5] == 6);
  CHECK(kgen::Tensor(kgen::ElementType::f32, {0, 3}, fake::device).to(kgen::cpu_device).bytes() == 0);
}
