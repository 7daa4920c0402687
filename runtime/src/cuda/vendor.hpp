// What gpu/device.cpp needs to know of CUDA. CUDA 12 or newer.
#pragma once

#include <cuda_runtime_api.h>

#include "kgen/runtime/device.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>  // headers only
#define KGEN_NVTX 1
#endif

#define KGEN_VENDOR(name) cuda##name

namespace kgen::cuda {

inline constexpr const char* prefix = "cuda";
inline constexpr const char* name = "cuda";
inline constexpr DLDeviceType memory_type = kDLCUDA;
inline constexpr DLDeviceType pinned_type = kDLCUDAHost;
inline constexpr cudaError_t out_of_memory = cudaErrorMemoryAllocation;

inline cudaError_t allocate_host(void** memory, std::size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}
inline cudaError_t free_host(void* memory) { return cudaFreeHost(memory); }

inline cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
  return cudaGraphInstantiate(exec, graph, 0);
}

inline cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph) {
  cudaGraphExecUpdateResultInfo result;
  return cudaGraphExecUpdate(exec, graph, &result);
}

inline cudaError_t exchange_mode(cudaStreamCaptureMode* mode) { return cudaThreadExchangeStreamCaptureMode(mode); }

#if defined(KGEN_NVTX)
inline void push_range(const char* name) { nvtxRangePushA(name); }
inline void pop_range() noexcept { nvtxRangePop(); }
#else
inline void push_range(const char*) {}
inline void pop_range() noexcept {}
#endif

}  // namespace kgen::cuda

namespace kgen {
namespace vendor = cuda;
}
