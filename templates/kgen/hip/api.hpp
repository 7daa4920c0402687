// The calls of HIP's runtime that launches need. All return a Status.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>

namespace kgen::gpu::api {

using Status = hipError_t;
inline constexpr Status success = hipSuccess;

inline const char* name(Status status) { return hipGetErrorName(status); }
inline const char* text(Status status) { return hipGetErrorString(status); }
inline Status last_error() { return hipGetLastError(); }  // clears it

inline Status get_device(int* device) { return hipGetDevice(device); }
inline Status multiprocessors(int* count, int device) {
  return hipDeviceGetAttribute(count, hipDeviceAttributeMultiprocessorCount, device);
}
inline Status shared_bytes(int* bytes, int device) {
  return hipDeviceGetAttribute(bytes, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
}

inline Status has_clusters(int* answer, int) {
  *answer = 0;
  return success;
}

inline hipStream_t stream(void* handle) { return static_cast<hipStream_t>(handle); }
inline Status allocate(void** memory, std::size_t bytes, void* handle) {
  return hipMallocAsync(memory, bytes, stream(handle));
}
inline Status release(void* memory, void* handle) { return hipFreeAsync(memory, stream(handle)); }

inline Status allow_shared(const void* kernel, int bytes) {
  return hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <class Grid, class... Parameters, class... Arguments>
Status launch_clusters(const Grid&, void*, void (*)(Parameters...), const Arguments&...) {
  return hipErrorNotSupported;
}

}  // namespace kgen::gpu::api
