// The calls of CUDA's runtime that launches need. All return a Status.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace kgen::gpu::api {

using Status = cudaError_t;
inline constexpr Status success = cudaSuccess;

inline const char* name(Status status) { return cudaGetErrorName(status); }
inline const char* text(Status status) { return cudaGetErrorString(status); }

inline Status get_device(int* device) { return cudaGetDevice(device); }
inline Status multiprocessors(int* count, int device) {
  return cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device);
}
inline Status shared_bytes(int* bytes, int device) {
  return cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}
inline Status cache_bytes(int* bytes, int device) {
  return cudaDeviceGetAttribute(bytes, cudaDevAttrL2CacheSize, device);
}

inline Status has_clusters(int* answer, int device) {
  return cudaDeviceGetAttribute(answer, cudaDevAttrClusterLaunch, device);
}

inline std::int64_t most_blocks(int) { return (std::int64_t{1} << 31) - 1; }

inline cudaStream_t stream(void* handle) { return static_cast<cudaStream_t>(handle); }
inline Status allocate(void** memory, std::size_t bytes, void* handle) {
  return cudaMallocAsync(memory, bytes, stream(handle));
}
inline Status release(void* memory, void* handle) { return cudaFreeAsync(memory, stream(handle)); }

// Of a block that this kernel may be launched with.
inline Status most_threads(int* threads, const void* kernel) {
  cudaFuncAttributes attributes{};
  const Status status = cudaFuncGetAttributes(&attributes, kernel);
  *threads = attributes.maxThreadsPerBlock;
  return status;
}
inline Status allow_shared(const void* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

// Whether all that nvcc compiles here waits in await_earlier(): the list begins with the least architecture.
inline constexpr bool has_early_launches = [] {
  constexpr int architectures[] = {__CUDA_ARCH_LIST__};
  return architectures[0] >= 900;
}();

template <class Grid, class... Parameters, class... Arguments>
Status launch(const Grid& grid, bool early, void* handle, void (*kernel)(Parameters...),
              const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if (grid.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[count++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(grid.cluster);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
  if (early && has_early_launches) {
    cudaLaunchAttribute& programmatic = attributes[count++];
    programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    programmatic.val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(grid.shared_bytes);
  config.stream = stream(handle);
  config.attrs = attributes;
  config.numAttrs = count;
  const Status status = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (status != success) (void)cudaGetLastError();  // that nobody else meets it
  return status;
}

}  // namespace kgen::gpu::api
