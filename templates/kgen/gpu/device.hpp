// What a kernel can ask of the device, under the same names for CUDA, HIP and the SIMT executor of the tests. Blocks and
// grids have one axis. kgen/{cuda,hip,simt}/device.hpp define:
//
//   wave_size                             lanes that run in step: 32 or 64
//   thread_index(), block_threads()       this thread in its block, and how many there are
//   block_index(), block_count()          this block in the grid
//   await_earlier()                       waits until what is ahead of this kernel on its stream is done, and sees what
//                                         that wrote: launch_early() launches before. take_turn() calls it
//   allow_next()                          the kernel behind this one may begin, once all blocks have said so or left
//   dynamic_shared()                      the block's shared memory: as many bytes as the launch asked for, from a
//                                         multiple of 1024 on
//   block_barrier(where)                  waits for all threads of the block; only guards call it
//   wave_barrier(where)                   waits for all threads of the wave
//   most_cluster_blocks                   that run at once and see each other's shared memory; 1: there are none
//   has_matrix_loads                      whether load_turned() of kgen/gpu/access.hpp is an instruction
//   cluster_rank()                        this block in its cluster
//   cluster_barrier(where)                waits for all threads of all blocks of the cluster, of whole waves, behind a
//                                         block_barrier() of each block's own; only guards call it
//   cluster_wait(where)                   the same, but says nothing of what they wrote before
//   cluster_arrive(where)                 says that this thread has come so far, and which mbarriers are made
//   cluster_await(where)                  waits until all threads of all blocks of the cluster have; guards call it
//   cluster_shared(memory, rank)          where another block of the cluster has what is at `memory` in this one's
//   shuffle_xor(word, distance, width)    the word that lane (mine ^ distance) passes. The lanes of one group of `width`
//   shuffle_from(word, lane, width)       consecutive lanes call it together; here the word of lane `lane` of the group
//   load_global<Bytes>(from)              aligned memory of the device, that nothing else writes before this is used. The
//                                         second-level cache is to give up what was written before it gives up this
//   load_constant<Bytes>(from)            the same, of memory that nothing writes while the kernel runs
//   load_passing<16>(from)                16 aligned bytes of such memory, that no thread near reads again
//   store_global(to, block)               aligned memory of the device
//   store_shared(to, block)               aligned memory of a block
//   atomic_add(to, value)                 returns what was there
//
// Each does its work on the device only: they are KGEN_FN because what calls them is.
#pragma once

#include <cstdint>
#include <cstring>

#include "kgen/platform.hpp"

namespace kgen::gpu {

// Where in the source a thread meets others, for the executor's messages.
struct Where {
#if defined(KGEN_SIMT)
  const char* file;
  int line;
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  friend bool operator==(const Where&, const Where&) = default;
#else
  KGEN_FN static constexpr Where here() { return {}; }
#endif
};

// Bytes as they are moved: 1, 2, 4, 8 or a multiple of 16 at a time.
template <int Bytes>
struct alignas(Bytes < 16 ? Bytes : 16) Block {
  std::uint32_t words[Bytes / 4];
};
template <>
struct Block<2> {
  std::uint16_t word;
};
template <>
struct Block<1> {
  std::uint8_t word;
};

}  // namespace kgen::gpu

#if defined(KGEN_SIMT)
#include "kgen/simt/device.hpp"
#else
#if defined(KGEN_HIP)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

namespace kgen::gpu {
#if defined(KGEN_HIP)
inline constexpr int most_cluster_blocks = 1;
inline constexpr bool has_matrix_loads = false;
#else
inline constexpr int most_cluster_blocks = 8;
inline constexpr bool has_matrix_loads = true;
#endif
}  // namespace kgen::gpu

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#if defined(__CUDA_ARCH__)
#include "kgen/cuda/device.hpp"
#else
#include "kgen/hip/device.hpp"
#endif

namespace kgen::gpu {

KGEN_FN int thread_index() { return static_cast<int>(threadIdx.x); }
KGEN_FN int block_threads() { return static_cast<int>(blockDim.x); }
KGEN_FN std::int64_t block_index() { return blockIdx.x; }
KGEN_FN std::int64_t block_count() { return gridDim.x; }
KGEN_FN unsigned char* dynamic_shared() {
  extern __shared__ __attribute__((aligned(1024))) unsigned char kgen_shared[];
  return kgen_shared;
}
KGEN_FN void block_barrier(Where) { __syncthreads(); }
template <class T>
KGEN_FN T atomic_add(T* to, T value) {
  return atomicAdd(to, value);
}

}  // namespace kgen::gpu

#else  // the host's pass of the compiler, in which none of these is ever called
#include "kgen/gpu/plain_memory.hpp"

namespace kgen::gpu {

inline constexpr int wave_size = 32;
KGEN_FN int thread_index() { return 0; }
KGEN_FN int block_threads() { return 1; }
KGEN_FN std::int64_t block_index() { return 0; }
KGEN_FN std::int64_t block_count() { return 1; }
KGEN_FN unsigned char* dynamic_shared() { return nullptr; }
KGEN_FN void block_barrier(Where) {}
KGEN_FN void wave_barrier(Where = Where::here()) {}
KGEN_FN std::uint32_t shuffle_xor(std::uint32_t word, int, int, Where) { return word; }
KGEN_FN std::uint32_t shuffle_from(std::uint32_t word, int, int, Where) { return word; }
template <class T>
KGEN_FN T atomic_add(T* to, T value) {
  return *to + value;
}

}  // namespace kgen::gpu

#endif
#endif

#if !defined(KGEN_SIMT) && !(defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)

namespace kgen::gpu {

// Without early launches and clusters: nothing is launched so there.
KGEN_FN void await_earlier() {}
KGEN_FN void allow_next() {}
KGEN_FN int cluster_rank() { return 0; }
KGEN_FN void cluster_barrier(Where) {}
KGEN_FN void cluster_wait(Where) {}
KGEN_FN void cluster_arrive(Where) {}
KGEN_FN void cluster_await(Where) {}
template <class T>
KGEN_FN T* cluster_shared(T* memory, int) {
  return memory;
}

}  // namespace kgen::gpu

#endif
