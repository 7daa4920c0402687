// Kernels that are launched early see all that is ahead of them, whatever it is: on a stream, and in a captured graph.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <vector>

#include "tests/gpu/early_kernels.hpp"

namespace {

constexpr int count = 1 << 16;

void require(cudaError_t error) { REQUIRE_MESSAGE(error == cudaSuccess, cudaGetErrorString(error)); }

std::int32_t* allocate(int elements) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, elements * sizeof(std::int32_t)));
  return static_cast<std::int32_t*>(memory);
}

// Two streams and memory, for as long as the program runs.
struct Device {
  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t forked = nullptr, joined = nullptr;
  std::int32_t *numbers = allocate(count), *sevens = allocate(count), *wrong = allocate(1);

  Device() {
    require(cudaStreamCreate(&stream));
    require(cudaStreamCreate(&other));
    require(cudaEventCreate(&forked));
    require(cudaEventCreate(&joined));
    const std::vector<std::int32_t> host(count, 7);
    require(cudaMemcpy(sevens, host.data(), count * sizeof(host[0]), cudaMemcpyHostToDevice));
    require(cudaMemset(wrong, 0, sizeof(*wrong)));
  }
  int take_wrong() {
    require(cudaStreamSynchronize(stream));
    std::int32_t result = -1;
    require(cudaMemcpy(&result, wrong, sizeof(result), cudaMemcpyDeviceToHost));
    require(cudaMemset(wrong, 0, sizeof(result)));
    return result;
  }
};

// Writes in every way, each time followed by a kernel that is launched early and counts what it does not find.
void write_and_count(Device& device, std::int32_t value) {
  const auto [stream, other, forked, joined, numbers, sevens, wrong] = device;
  const auto expect = [&](std::int32_t found) { count_others(numbers, count, found, wrong, stream); };
  for (const Begin begin : {Begin::early, Begin::in_turn}) {
    fill_slowly(numbers, count, ++value, begin, stream);
    expect(value);
  }
  require(cudaMemcpyAsync(numbers, sevens, count * sizeof(value), cudaMemcpyDeviceToDevice, stream));
  expect(7);
  require(cudaMemsetAsync(numbers, 0, count * sizeof(value), stream));
  expect(0);
  fill_and_count_in_workspace(count, ++value, wrong, stream);

  // Not the kernel just ahead, but one before it.
  fill_slowly(numbers, count, ++value, Begin::early, stream);
  fill_slowly(sevens, 1, 7, Begin::early, stream);
  expect(value);

  // What another stream wrote, behind what this one did.
  fill_slowly(numbers, count, value, Begin::early, stream);
  require(cudaEventRecord(forked, stream));
  require(cudaStreamWaitEvent(other, forked));
  fill_slowly(numbers, count, ++value, Begin::early, other);
  require(cudaEventRecord(joined, other));
  fill_slowly(sevens, 1, 7, Begin::early, stream);
  require(cudaStreamWaitEvent(stream, joined));
  expect(value);
}

// How many dependencies of the graph let what comes behind begin early.
int early_edges(cudaGraph_t graph) {
  std::size_t edges = 0;
#if CUDART_VERSION >= 13000  // before, from 12.3 on, the second version of it has data
  require(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  std::vector<cudaGraphNode_t> from(edges), to(edges);
  std::vector<cudaGraphEdgeData> data(edges);
  require(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &edges));
#else
  require(cudaGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges));
  std::vector<cudaGraphNode_t> from(edges), to(edges);
  std::vector<cudaGraphEdgeData> data(edges);
  require(cudaGraphGetEdges_v2(graph, from.data(), to.data(), data.data(), &edges));
#endif
  int early = 0;
  for (const cudaGraphEdgeData& edge : data) early += edge.type == cudaGraphDependencyTypeProgrammatic ? 1 : 0;
  return early;
}

}  // namespace

TEST_CASE("Early launches see what is ahead of them") {
  Device device;
  for (int round = 1; round <= 20; ++round) write_and_count(device, round * 100);
  CHECK(device.take_wrong() == 0);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  require(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
  write_and_count(device, 5000);
  require(cudaStreamEndCapture(device.stream, &graph));
  CHECK(early_edges(graph) >= 5);
  require(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 20; ++round) require(cudaGraphLaunch(executable, device.stream));
  CHECK(device.take_wrong() == 0);

  // CUDA's default stream comes behind all others.
  for (int round = 1; round <= 20; ++round) {
    fill_slowly(device.numbers, count, round, Begin::early, device.other);
    count_others(device.numbers, count, round, device.wrong, nullptr);
    fill_slowly(device.numbers, count, -round, Begin::early, nullptr);
    count_others(device.numbers, count, -round, device.wrong, device.other);
  }
  require(cudaDeviceSynchronize());
  CHECK(device.take_wrong() == 0);

  // That the counting counts.
  count_others(device.sevens, count, 8, device.wrong, device.stream);
  CHECK(device.take_wrong() == count);
  require(cudaGraphExecDestroy(executable));
  require(cudaGraphDestroy(graph));
}
