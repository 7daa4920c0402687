// NVIDIA's CUB for the row of the benchmark that it computes.
#include <cub/device/device_reduce.cuh>

#include <cstddef>
#include <cstdint>

// y = the sum of `count` elements of x, queued on a cudaStream_t. Without a workspace it only says in *bytes how large
// that has to be. Returns a cudaError_t.
extern "C" int kgen_vendor_sum(void* workspace, std::size_t* bytes, const float* x, float* y, std::int64_t count,
                               void* stream) {
  return cub::DeviceReduce::Sum(workspace, *bytes, x, y, count, static_cast<cudaStream_t>(stream));
}
