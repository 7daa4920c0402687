#include "tests/gpu/early_kernels.hpp"

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"

namespace {

using namespace kgen::gpu;

constexpr int threads = 256;

Grid grid_of(const char* kernel, int count) { return {kernel, (count + threads - 1) / threads, threads}; }

kgen::Stream as_stream(void* handle) {
  kgen::Stream stream;
  stream.handle = handle;
  return stream;
}

__global__ void fill(std::int32_t* to, int count, std::int32_t value) {
  take_turn(true);
  for (const long long begin = clock64(); clock64() - begin < 50'000;) {
  }
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = value;
}

// Reads what another block wrote, as memory that does not change.
__global__ void count_wrong(const std::int32_t* from, int count, std::int32_t value, std::int32_t* wrong) {
  take_turn(true);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count && __ldg(from + count - 1 - i) != value) atomicAdd(wrong, 1);
}

}  // namespace

void fill_slowly(std::int32_t* to, int count, std::int32_t value, Begin begin, void* stream) {
  const Grid grid = grid_of("fill", count);
  if (begin == Begin::early) {
    launch_early(grid, as_stream(stream), fill, to, count, value);
  } else {
    launch(grid, as_stream(stream), fill, to, count, value);
  }
}

void count_others(const std::int32_t* from, int count, std::int32_t value, std::int32_t* wrong, void* stream) {
  launch_early(grid_of("count_wrong", count), as_stream(stream), count_wrong, from, count, value, wrong);
}

void fill_and_count_in_workspace(int count, std::int32_t value, std::int32_t* wrong, void* stream) {
  const Workspace workspace(count * static_cast<std::int64_t>(sizeof(value)), as_stream(stream));
  auto* const memory = reinterpret_cast<std::int32_t*>(workspace.data());
  fill_slowly(memory, count, value, Begin::early, stream);
  count_others(memory, count, value, wrong, stream);
}
