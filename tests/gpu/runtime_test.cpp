// The runtime on a real GPU: what the fake device of tests/runtime cannot show, which is that streams overlap, graphs
// replay what they should, and CUDA's own errors arrive as kgen's.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <kgen_runtime.h>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/tensor.hpp"
#include "tests/gpu/nvtx_recorder.hpp"
#include "tests/gpu/slow_kernel.hpp"

extern "C" const kgen_graph* kgen_graph_swish(void);

namespace {

using ModelPointer = std::unique_ptr<kgen_model, void (*)(kgen_model*)>;

void require(kgen_status status) { REQUIRE_MESSAGE(status == KGEN_OK, kgen_last_error()); }
void require(cudaError_t error) { REQUIRE_MESSAGE(error == cudaSuccess, cudaGetErrorString(error)); }

ModelPointer load(const kgen_graph* graph, const kgen_load_options& options = {}) {
  kgen_model* model = nullptr;
  require(kgen_model_load(graph, &options, &model));
  return {model, kgen_model_free};
}

// A graph without arguments whose stubs are launched by `body`.
kgen::GraphInfo graph_that_runs(void (*body)(kgen::Call&)) {
  kgen::GraphInfo graph;
  graph.name = "small";
  graph.run = body;
  graph.device = &kgen::cuda::device;
  return graph;
}

kgen_status run(const ModelPointer& model) { return kgen_model_run(model.get(), nullptr, 0, nullptr, 0); }
kgen_status run_on(const ModelPointer& model, cudaStream_t stream) {
  return kgen_model_run_on(model.get(), nullptr, 0, nullptr, 0, stream);
}

// Numbers that the host and the device both see.
int* shared_numbers() {
  static int* const numbers = [] {
    void* memory = nullptr;
    require(cudaHostAlloc(&memory, 64 * sizeof(int), cudaHostAllocDefault));
    return static_cast<int*>(memory);
  }();
  return numbers;
}

constexpr int slow_us = 4000;

// Two slow stubs that both read what a first one gives, on streams of their own, and one that reads what they give.
void run_branches(kgen::Call& call) {
  int* const numbers = shared_numbers();
  const auto step = [&](const char* stub, const kgen::LaunchOrder& order, int from, int add, int to) {
    const kgen::Launch launch = call.launch(stub, order);
    const kgen::Stream stream = launch;
    add_slowly(slow_us, numbers + from, add, numbers + to, stream.handle);
  };
  const kgen::Fork streams = call.fork(2);
  step("stub_first", {.signal = 0}, 0, 1, 1);
  step("stub_left", {}, 1, 10, 2);
  step("stub_right", {.stream = 1, .wait = {0}, .signal = 1}, 1, 100, 3);
  step("stub_last", {.wait = {1}}, 3, 1000, 4);
}

double milliseconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// A capture of the whole thread, the strictest kind, as torch.cuda.graph begins one.
class CallersGraph {
 public:
  template <class Body>
  CallersGraph(cudaStream_t stream, Body&& body) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    body();
    require(cudaStreamEndCapture(stream, &graph_));
    require(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~CallersGraph() {
    (void)cudaGraphExecDestroy(exec_);
    (void)cudaGraphDestroy(graph_);
  }
  void replay(cudaStream_t stream) const {
    require(cudaGraphLaunch(exec_, stream));
    require(cudaStreamSynchronize(stream));
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

struct OwnedCudaStream {
  cudaStream_t stream = nullptr;
  OwnedCudaStream() { require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~OwnedCudaStream() { (void)cudaStreamDestroy(stream); }
};

// x and y of swish on the device, and what y should be.
struct Swish {
  int device;
  kgen::Tensor x, y;
  Swish(std::int64_t m, std::int64_t n, int on = 0)
      : device(on),
        x(kgen::ElementType::f32, {m, n}, kgen::cuda::device, on),
        y(kgen::ElementType::f32, {m, n}, kgen::cuda::device, on) {
    renew();
  }
  // Other numbers at the same place, and nothing but NaN in y.
  void renew() {
    static std::mt19937 generator(std::random_device{}());
    std::normal_distribution<float> normal;
    values.resize(static_cast<std::size_t>(x.element_count()));
    for (float& value : values) value = normal(generator);
    const kgen::DeviceScope scope(kgen::cuda::device, device);
    require(cudaMemcpy(x.data(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    require(cudaMemset(y.data(), 0xFF, values.size() * sizeof(float)));
    require(cudaDeviceSynchronize());  // the model's stream does not wait for the default one
  }
  bool is_right() const {
    const kgen::Tensor found = y.to(kgen::cpu_device);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values[i];
      if (!(std::abs(found.values<float>()[i] - value / (1 + std::exp(-value))) < 1e-5)) return false;
    }
    return true;
  }
  kgen_status run(const ModelPointer& model, cudaStream_t stream = nullptr) {
    const DLTensor in = x.dlpack();
    DLTensor out = y.dlpack();
    const DLTensor* inputs[] = {&in};
    DLTensor* outputs[] = {&out};
    return stream == nullptr ? kgen_model_run(model.get(), inputs, 1, outputs, 1)
                             : kgen_model_run_on(model.get(), inputs, 1, outputs, 1, stream);
  }
  std::vector<float> values;
};

}  // namespace

TEST_CASE("Branches that do not depend on each other overlap, and what depends waits") {
  const kgen::GraphInfo graph = graph_that_runs(run_branches);
  int* const numbers = shared_numbers();
  const auto time_of = [&](const kgen_load_options& options) {
    const ModelPointer model = load(kgen::as_c(graph), options);
    double milliseconds = 0;
    for (int i = 0; i < 3; ++i) {  // stub by stub, captured, replayed
      numbers[0] = 7 * i;
      for (int number = 1; number < 5; ++number) numbers[number] = -1;
      milliseconds = milliseconds_of([&] { require(run(model)); });
      CHECK(numbers[2] == 7 * i + 11);
      CHECK(numbers[4] == 7 * i + 1101);
    }
    return milliseconds;
  };
  const double step = slow_us / 1e3;
  CHECK(time_of({.eager = 1}) < 3.5 * step);
  CHECK(time_of({}) < 3.5 * step);
  CHECK(time_of({.synchronous = 1}) > 3.9 * step);  // one after the other
}

TEST_CASE("A run that comes again is one launch, of what is there then") {
  static int executed = 0;
  executed = 0;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    ++executed;
    run_branches(call);
  });
  const ModelPointer model = load(kgen::as_c(graph));
  int* const numbers = shared_numbers();
  for (int i = 0; i < 5; ++i) {
    numbers[0] = 1000 * i;
    require(run(model));
    CHECK(numbers[4] == 1000 * i + 1101);
  }
  CHECK(executed == 2);
}

TEST_CASE("Replay follows other contents, pointers and shapes") {
  const ModelPointer model = load(kgen_graph_swish());
  const OwnedCudaStream other;
  std::vector<Swish> all;
  for (const auto& [m, n] : std::vector<std::pair<int, int>>{{3, 5}, {64, 128}, {64, 128}, {1, 1}, {100, 1000}}) {
    all.emplace_back(m, n);
  }
  for (int round = 0; round < 4; ++round) {
    for (Swish& one : all) {
      one.renew();
      require(one.run(model));
      CHECK(one.is_right());
      one.renew();
      require(one.run(model, other.stream));
      require(cudaStreamSynchronize(other.stream));
      CHECK(one.is_right());
    }
  }
}

TEST_CASE("A caller captures runs in a graph of its own") {
  const OwnedCudaStream mine;
  SUBCASE("with branches") {
    const kgen::GraphInfo graph = graph_that_runs(run_branches);
    const ModelPointer model = load(kgen::as_c(graph));
    int* const numbers = shared_numbers();
    const CallersGraph twice(mine.stream, [&] {  // a model that has never run
      require(run_on(model, mine.stream));
      require(run_on(model, mine.stream));
    });
    numbers[0] = 5;
    const double milliseconds = milliseconds_of([&] { twice.replay(mine.stream); });
    CHECK(numbers[4] == 1106);
    CHECK(milliseconds < 7 * slow_us / 1e3);
    numbers[0] = 50;
    require(run(model));  // and between its replays it runs as ever
    CHECK(numbers[4] == 1151);
    numbers[0] = 6;
    twice.replay(mine.stream);
    CHECK(numbers[4] == 1107);
  }
  SUBCASE("with memory, which stays while the model needs more") {
    static std::int64_t bytes = 0;
    bytes = 1 << 20;
    const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
      const kgen::Arena arena = call.arena(bytes);
      int* const between = arena.view<std::int32_t, 1>(0, {1}).data();
      {
        const kgen::Launch launch = call.launch("stub_first");
        add_slowly(1, shared_numbers(), 1, between, kgen::Stream(launch).handle);
      }
      const kgen::Launch launch = call.launch("stub_second");
      add_slowly(1, between, 1, shared_numbers() + 1, kgen::Stream(launch).handle);
    });
    const ModelPointer model = load(kgen::as_c(graph));
    const CallersGraph captured(mine.stream, [&] { require(run_on(model, mine.stream)); });
    bytes = 64 << 20;
    require(run(model));
    for (int i = 0; i < 3; ++i) {
      shared_numbers()[0] = i;
      captured.replay(mine.stream);
      CHECK(shared_numbers()[1] == i + 2);
    }
  }
  SUBCASE("of emitted stubs") {
    const ModelPointer model = load(kgen_graph_swish());
    Swish one(33, 65);
    const CallersGraph captured(mine.stream, [&] { require(one.run(model, mine.stream)); });
    for (int i = 0; i < 3; ++i) {
      one.renew();
      captured.replay(mine.stream);
      CHECK(one.is_right());
    }
  }
  SUBCASE("not where each stub is waited for") {
    const ModelPointer model = load(kgen_graph_swish(), {.synchronous = 1});
    Swish one(3, 5);
    const CallersGraph captured(mine.stream, [&] { CHECK(one.run(model, mine.stream) == KGEN_INVALID_ARGUMENT); });
    CHECK(std::string(kgen_last_error()).find("cannot be done while the stream is captured") != std::string::npos);
  }
}

TEST_CASE("CUDA's errors are kgen's, and name the graph or the stub") {
  static std::int64_t bytes = 0;
  static int threads = 1;
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    (void)call.arena(bytes);
    const kgen::Launch launch = call.launch("stub_wide");
    launch_too_wide(threads, kgen::Stream(launch).handle);
  });
  kgen_model* none = nullptr;
  const kgen_load_options seventh = {.device = 77};
  CHECK(kgen_model_load(kgen::as_c(graph), &seventh, &none) == KGEN_INVALID_ARGUMENT);
  CHECK(std::string(kgen_last_error()).starts_with("device 77 was asked for, but cuda has "));

  const ModelPointer model = load(kgen::as_c(graph));
  bytes = std::int64_t{1} << 45;
  CHECK(run(model) == KGEN_OUT_OF_MEMORY);
  CHECK(std::string(kgen_last_error()) ==
        "graph 'small': cudaMallocAsync of 35184372088832 bytes: out of memory (cudaErrorMemoryAllocation)");
  bytes = 1024;
  threads = 4096;
  CHECK(run(model) == KGEN_DEVICE_ERROR);
  CHECK(std::string(kgen_last_error()) ==
        "graph 'small': stub_wide: the launch failed: invalid argument (cudaErrorInvalidValue)");
  threads = 32;
  for (int i = 0; i < 3; ++i) CHECK(run(model) == KGEN_OK);  // neither error lasts
}

TEST_CASE("Tensors in other memory") {
  const ModelPointer model = load(kgen_graph_swish());
  std::vector<float> host(15, 1.0F);
  Swish one(3, 5);
  DLTensor in = one.x.dlpack(), out = one.y.dlpack();
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  in.data = host.data();
  in.device = {kDLCPU, 0};
  CHECK(kgen_model_run(model.get(), inputs, 1, outputs, 1) == KGEN_WRONG_DEVICE);
  CHECK(std::string(kgen_last_error()) == "input 'x': the memory is on cpu, expected cuda:0, where the model is");
  void* pinned = nullptr;
  require(cudaHostAlloc(&pinned, host.size() * sizeof(float), cudaHostAllocDefault));
  std::copy(one.values.begin(), one.values.end(), static_cast<float*>(pinned));
  in.data = pinned;
  in.device = {kDLCUDAHost, 0};
  require(kgen_model_run(model.get(), inputs, 1, outputs, 1));
  CHECK(one.is_right());
  require(cudaFreeHost(pinned));
}

TEST_CASE("Models on several devices run at once, each on its own") {
  int devices = 0;
  require(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    MESSAGE("skipped: there is one device");
    return;
  }
  std::vector<ModelPointer> models;
  std::vector<Swish> data;
  for (int device = 0; device < devices; ++device) {
    models.push_back(load(kgen_graph_swish(), {.device = device}));
    data.emplace_back(1000, 37 + device, device);
  }
  for (int round = 0; round < 4; ++round) {  // launched, captured, replayed
    std::vector<kgen_status> statuses(models.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < models.size(); ++i) {
        threads.emplace_back([&, i] { statuses[i] = data[i].run(models[i]); });
      }
    }
    for (std::size_t i = 0; i < models.size(); ++i) {
      CAPTURE(i);
      CHECK(statuses[i] == KGEN_OK);
      CHECK(data[i].is_right());
      data[i].renew();
    }
  }
  int selected = -1;
  require(cudaGetDevice(&selected));
  CHECK(selected == 0);  // as it was
  CHECK(data[0].run(models[1]) == KGEN_WRONG_DEVICE);
  CHECK(std::string(kgen_last_error()) == "input 'x': the memory is on cuda:0, expected cuda:1, where the model is");

  const kgen::GraphInfo graph = graph_that_runs(run_branches);
  const ModelPointer first = load(kgen::as_c(graph)), second = load(kgen::as_c(graph), {.device = 1});
  const auto both = [&] {
    const std::jthread other([&] { (void)run(second); });
    CHECK(run(first) == KGEN_OK);
  };
  both();
  CHECK(milliseconds_of(both) < 4.5 * slow_us / 1e3);  // one after the other takes 6
}

TEST_CASE("A profile takes the time of each stub on the GPU") {
  const kgen::GraphInfo graph = graph_that_runs(run_branches);
  const ModelPointer model = load(kgen::as_c(graph));
  require(run(model));
  require(kgen_model_profile_start(model.get()));
  for (int i = 0; i < 3; ++i) require(run(model));
  require(kgen_model_profile_stop(model.get(), nullptr));
  std::map<std::string, double> milliseconds;
  for (int i = 0; i < kgen_model_profile_count(model.get()); ++i) {
    kgen_profile_entry entry;
    require(kgen_model_profile_get(model.get(), i, &entry));
    CHECK(entry.count == 3);
    milliseconds[entry.name] = static_cast<double>(entry.total_ns) / 3e6;
  }
  CHECK(milliseconds.size() == 5);
  const double step = slow_us / 1e3;
  for (const char* stub : {"stub_first", "stub_left", "stub_right", "stub_last"}) {
    CAPTURE(stub);
    CHECK(milliseconds[stub] > 0.99 * step);
    CHECK(milliseconds[stub] < 1.5 * step);
  }
  CHECK(milliseconds["small"] > 2.9 * step);
  CHECK(milliseconds["small"] < 3.5 * step);
}

TEST_CASE("NVTX has a range for each stub, under its name") {
  const kgen::GraphInfo graph = graph_that_runs(run_branches);
  const ModelPointer model = load(kgen::as_c(graph));
  (void)take_nvtx_ranges();
  require(run(model));
  const NvtxRanges ranges = take_nvtx_ranges();
  CHECK(ranges.begun == std::vector<std::string>{"small", "stub_first", "stub_left", "stub_right", "stub_last"});
  CHECK(ranges.open == 0);
  require(run(model));
  (void)take_nvtx_ranges();
  require(run(model));  // replayed as a whole
  CHECK(take_nvtx_ranges().begun == std::vector<std::string>{"small"});
}

// Last of its process, as the device is of no use to it then: --no-skip.
TEST_CASE("A kernel that faults is named where each stub is waited for" * doctest::skip()) {
  const kgen::GraphInfo graph = graph_that_runs([](kgen::Call& call) {
    {
      const kgen::Launch launch = call.launch("stub_good");
      add_slowly(1, shared_numbers(), 1, shared_numbers() + 1, kgen::Stream(launch).handle);
    }
    const kgen::Launch launch = call.launch("stub_bad");
    write_nowhere(kgen::Stream(launch).handle);
  });
  const ModelPointer model = load(kgen::as_c(graph), {.synchronous = 1});
  CHECK(run(model) == KGEN_DEVICE_ERROR);
  CHECK(std::string(kgen_last_error()).starts_with("graph 'small': stub_bad: cudaStreamSynchronize: "));
}
