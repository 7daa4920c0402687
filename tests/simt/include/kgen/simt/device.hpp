// kgen/gpu/device.hpp on the SIMT executor. KGEN_SIMT_WAVE is the wave size, as an architecture's macro would be.
#pragma once

#include <cstddef>

#include "kgen/simt/executor.hpp"

namespace kgen::gpu {

inline constexpr int wave_size = KGEN_SIMT_WAVE;

inline int thread_index() { return simt::thread_index(); }
inline int block_threads() { return simt::block_threads(); }
inline std::int64_t block_index() { return simt::block_index(); }
inline std::int64_t block_count() { return simt::block_count(); }
inline void await_earlier() { simt::await_earlier(); }
inline void allow_next() {}  // kernels run one after the other
inline unsigned char* dynamic_shared() { return simt::shared_memory(); }
inline void block_barrier(Where where) { simt::block_barrier({where.line, where.file}); }
inline void wave_barrier(Where where = Where::here()) { simt::wave_barrier({where.line, where.file}); }

// As the vendors' devices: waves of 32 lanes come with clusters, waves of 64 without.
inline constexpr int most_cluster_blocks = wave_size == 32 ? 8 : 1;
inline constexpr bool has_matrix_loads = wave_size == 32;
inline int cluster_rank() { return simt::cluster_rank(); }
inline void cluster_barrier(Where where) { simt::cluster_barrier({where.line, where.file}); }
inline void cluster_wait(Where where) { simt::cluster_barrier({where.line, where.file}); }
inline void cluster_arrive(Where where) { simt::cluster_arrive({where.line, where.file}); }
inline void cluster_await(Where where) { simt::cluster_await({where.line, where.file}); }
template <class T>
T* cluster_shared(T* memory, int rank) {
  return static_cast<T*>(simt::cluster_shared(memory, rank));
}

inline std::uint32_t shuffle_xor(std::uint32_t word, int distance, int width, Where where) {
  return simt::exchange({{where.line, where.file}, distance, width, "shuffle_xor"}, word,
                        simt::thread_index() % wave_size ^ distance);
}
inline std::uint32_t shuffle_from(std::uint32_t word, int lane, int width, Where where) {
  return simt::exchange({{where.line, where.file}, 0, width, "shuffle_from"}, word,
                        simt::thread_index() % wave_size / width * width + lane);
}

template <int Bytes>
Block<Bytes> load_global(const void* from) {
  simt::access(from, alignof(Block<Bytes>));
  Block<Bytes> block;
  std::memcpy(&block, from, Bytes);
  return block;
}

template <int Bytes>
Block<Bytes> load_constant(const void* from) {
  return load_global<Bytes>(from);
}

template <int Bytes>
Block<Bytes> load_passing(const void* from) {
  return load_global<Bytes>(from);
}

template <int Bytes>
void store_global(void* to, const Block<Bytes>& block) {
  simt::access(to, alignof(Block<Bytes>));
  std::memcpy(to, &block, Bytes);
}
template <int Bytes>
void store_shared(void* to, const Block<Bytes>& block) {
  store_global(to, block);
}

// Fibers take turns, so nothing can come between.
template <class T>
T atomic_add(T* to, T value) {
  simt::access(to, alignof(T));
  const T before = *to;
  *to += value;
  return before;
}

}  // namespace kgen::gpu
