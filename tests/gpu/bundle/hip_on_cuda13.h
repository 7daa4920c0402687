// What CUDA 13 has removed or changed of that which HIP 5.2's headers for NVIDIA GPUs (of Debian 12) are written on. The
// compiler reads it first: -include. None of this is called here; it lets those headers parse.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#if CUDART_VERSION >= 13000

// With the fields that are gone, which read 0: ask hipDeviceGetAttribute for them.
struct kgen_hip_properties : cudaDeviceProp {
  int clockRate = 0;
  int computeMode = 0;
  int memoryClockRate = 0;
  int cooperativeMultiDeviceLaunch = 0;
  int kernelExecTimeoutEnabled = 0;
};
#define cudaDeviceProp kgen_hip_properties
#define cudaDevAttrCooperativeMultiDeviceLaunch static_cast<cudaDeviceAttr>(96)

// A device was a number.
inline cudaMemLocation kgen_hip_location(int device) {
  cudaMemLocation location{};
  location.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device < 0 ? 0 : device;
  return location;
}
inline cudaError_t cudaMemAdvise(const void* memory, size_t bytes, cudaMemoryAdvise advice, int device) {
  return ::cudaMemAdvise(memory, bytes, advice, kgen_hip_location(device));
}
inline cudaError_t cudaMemPrefetchAsync(const void* memory, size_t bytes, int device, cudaStream_t stream) {
  return ::cudaMemPrefetchAsync(memory, bytes, kgen_hip_location(device), 0, stream);
}

inline CUresult kgen_hip_create_context(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}
#undef cuCtxCreate
#define cuCtxCreate kgen_hip_create_context

// Edges had no data of their own.
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            size_t count) {
  return ::cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                               const cudaGraphNode_t* to, size_t count) {
  return ::cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return ::cudaGraphGetEdges(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* before, size_t* count) {
  return ::cudaGraphNodeGetDependencies(node, before, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* after, size_t* count) {
  return ::cudaGraphNodeGetDependentNodes(node, after, nullptr, count);
}
inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                       unsigned flags) {
  return ::cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
}
inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                               unsigned long long* id = nullptr, cudaGraph_t* graph = nullptr,
                                               const cudaGraphNode_t** nodes = nullptr, size_t* count = nullptr) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}

// Texture references, and one launch on several devices.
struct textureReference;
template <class T, int Dimensions, cudaTextureReadMode Mode>
struct texture;
template <class... Arguments>
inline cudaError_t kgen_hip_gone(Arguments&&...) {
  return cudaErrorNotSupported;
}
#define cudaBindTexture kgen_hip_gone
#define cudaBindTexture2D kgen_hip_gone
#define cudaBindTextureToArray kgen_hip_gone
#define cudaUnbindTexture kgen_hip_gone
#define cudaGetTextureAlignmentOffset kgen_hip_gone
#define cudaLaunchCooperativeKernelMultiDevice kgen_hip_gone

#endif
