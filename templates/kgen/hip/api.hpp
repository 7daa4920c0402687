// The calls of HIP's runtime that launches need. All return a Status.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kgen::gpu::api {

using Status = hipError_t;
inline constexpr Status success = hipSuccess;

inline const char* name(Status status) { return hipGetErrorName(status); }
inline const char* text(Status status) { return hipGetErrorString(status); }

inline Status get_device(int* device) { return hipGetDevice(device); }
inline Status multiprocessors(int* count, int device) {
  return hipDeviceGetAttribute(count, hipDeviceAttributeMultiprocessorCount, device);
}
inline Status shared_bytes(int* bytes, int device) {
  return hipDeviceGetAttribute(bytes, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
}
inline Status cache_bytes(int* bytes, int device) {
  return hipDeviceGetAttribute(bytes, hipDeviceAttributeL2CacheSize, device);
}

inline Status has_clusters(int* answer, int) {
  *answer = 0;
  return success;
}

// A grid has fewer than 2^32 threads.
inline std::int64_t most_blocks(int threads) {
  return std::min((std::int64_t{1} << 31) - 1, ((std::int64_t{1} << 32) - 1) / threads);
}

inline hipStream_t stream(void* handle) { return static_cast<hipStream_t>(handle); }
inline Status allocate(void** memory, std::size_t bytes, void* handle) {
  return hipMallocAsync(memory, bytes, stream(handle));
}
inline Status release(void* memory, void* handle) { return hipFreeAsync(memory, stream(handle)); }

// Of a block that this kernel may be launched with.
inline Status most_threads(int* threads, const void* kernel) {
  hipFuncAttributes attributes{};
  const Status status = hipFuncGetAttributes(&attributes, kernel);
  *threads = attributes.maxThreadsPerBlock;
  return status;
}
inline Status allow_shared(const void* kernel, int bytes) {
  return hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

// There are no clusters and no early launches.
template <class Grid, class... Parameters, class... Arguments>
Status launch(const Grid& grid, bool, void* handle, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (grid.cluster > 1) return hipErrorNotSupported;
  kernel<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.threads),
           static_cast<std::size_t>(grid.shared_bytes), stream(handle)>>>(arguments...);
  return hipGetLastError();
}

}  // namespace kgen::gpu::api
