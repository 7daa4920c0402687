// What gpu/device.cpp needs to know of HIP. HIP 5.2 or newer, for AMD's GPUs, or for NVIDIA's through CUDA.
#pragma once

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include "kgen/runtime/device.hpp"

#define KGEN_VENDOR(name) hip##name

namespace kgen::hip {

inline constexpr const char* prefix = "hip";
inline constexpr const char* name = "hip";
#if defined(__HIP_PLATFORM_NVIDIA__)
inline constexpr DLDeviceType memory_type = kDLCUDA;
inline constexpr DLDeviceType pinned_type = kDLCUDAHost;
#else
inline constexpr DLDeviceType memory_type = kDLROCM;
inline constexpr DLDeviceType pinned_type = kDLROCMHost;
#endif
inline constexpr hipError_t out_of_memory = hipErrorOutOfMemory;

inline hipError_t allocate_host(void** memory, std::size_t bytes) {
  return hipHostMalloc(memory, bytes, hipHostMallocDefault);
}
inline hipError_t free_host(void* memory) { return hipHostFree(memory); }

inline hipError_t instantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  return hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}

inline hipError_t update(hipGraphExec_t exec, hipGraph_t graph) {
  hipGraphNode_t failed = nullptr;
  hipGraphExecUpdateResult result = hipGraphExecUpdateSuccess;
  return hipGraphExecUpdate(exec, graph, &failed, &result);
}

// HIP 5.2 has no name for CUDA's.
#if defined(__HIP_PLATFORM_NVIDIA__)
inline hipError_t exchange_mode(hipStreamCaptureMode* mode) {
  return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}
#else
inline hipError_t exchange_mode(hipStreamCaptureMode* mode) { return hipThreadExchangeStreamCaptureMode(mode); }
#endif

// A function of roctx, to which nothing is linked: of the library that the program or a profiler has loaded, else of
// rocprofv3's, else of the older profilers'. Null where there is none.
inline void* roctx(const char* function) {
  if (void* loaded = ::dlsym(RTLD_DEFAULT, function)) return loaded;
  for (const char* library : {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4"}) {
    if (void* opened = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL)) return ::dlsym(opened, function);
  }
  return nullptr;
}
inline void push_range(const char* range) {
  static const auto push = reinterpret_cast<int (*)(const char*)>(roctx("roctxRangePushA"));
  if (push != nullptr) push(range);
}
inline void pop_range() noexcept {
  static const auto pop = reinterpret_cast<int (*)()>(roctx("roctxRangePop"));
  if (pop != nullptr) pop();
}

}  // namespace kgen::hip

namespace kgen {
namespace vendor = hip;
}
