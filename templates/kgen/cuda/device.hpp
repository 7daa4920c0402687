// The part of kgen/gpu/device.hpp that is NVIDIA's own, through CUDA or HIP.
#pragma once

namespace kgen::gpu {

inline constexpr int wave_size = 32;

// The lanes of this thread's group of `width`, as a mask of the wave.
KGEN_FN unsigned group_mask(int width) {
  return (width == 32 ? ~0u : (1u << width) - 1) << (threadIdx.x % 32 / width * width);
}
KGEN_FN std::uint32_t shuffle_xor(std::uint32_t word, int distance, int width, Where) {
  return __shfl_xor_sync(group_mask(width), word, distance, width);
}
KGEN_FN std::uint32_t shuffle_from(std::uint32_t word, int lane, int width, Where) {
  return __shfl_sync(group_mask(width), word, lane, width);
}

KGEN_FN void wave_barrier(Where = Where::here()) { __syncwarp(); }

#if __CUDA_ARCH__ >= 900
// Programmatic dependent launch, PTX ISA 8.0.
KGEN_FN void await_earlier() { asm volatile("griddepcontrol.wait;" : : : "memory"); }
KGEN_FN void allow_next() { asm volatile("griddepcontrol.launch_dependents;" : : : "memory"); }

KGEN_FN int cluster_rank() { return static_cast<int>(__clusterRelativeBlockRank()); }
// One wave says for all of the block what they wrote: each that does waits for memory until it may.
KGEN_FN void cluster_barrier(Where) {
  __syncthreads();
  if (__shfl_sync(~0u, static_cast<int>(threadIdx.x) / wave_size, 0) == 0) {
    __cluster_barrier_arrive();
  } else {
    __cluster_barrier_arrive_relaxed();
  }
  __cluster_barrier_wait();
}
KGEN_FN void cluster_wait(Where) {
  __cluster_barrier_arrive_relaxed();  // does not wait for results on their way to memory
  __cluster_barrier_wait();
}
KGEN_FN void cluster_arrive(Where) { __cluster_barrier_arrive_relaxed(); }  // behind publish_mbarriers()
KGEN_FN void cluster_await(Where) { __cluster_barrier_wait(); }
template <class T>
KGEN_FN T* cluster_shared(T* memory, int rank) {
  return static_cast<T*>(__cluster_map_shared_rank(memory, static_cast<unsigned>(rank)));
}
#endif

// What was read stays in the second-level cache, from which lines that were written then go sooner and in longer runs
// to memory: 1 to 4 % of the time of kernels that read as much as they write, measured on an H200. `volatile` keeps
// loads behind await_earlier().
#if __CUDA_ARCH__ >= 800
KGEN_FN std::uint64_t staying() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
  return policy;
}
template <bool Constant>
KGEN_FN uint4 load_unit(const uint4* from) {
  uint4 unit;
  if constexpr (Constant) {
    asm volatile("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
                 : "l"(__cvta_generic_to_global(from)), "l"(staying()));
  } else {
    asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
                 : "l"(__cvta_generic_to_global(from)), "l"(staying()));
  }
  return unit;
}
template <bool Constant>
KGEN_FN uint2 load_unit(const uint2* from) {
  uint2 unit;
  if constexpr (Constant) {
    asm volatile("ld.global.nc.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(unit.x), "=r"(unit.y)
                 : "l"(__cvta_generic_to_global(from)), "l"(staying()));
  } else {
    asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(unit.x), "=r"(unit.y)
                 : "l"(__cvta_generic_to_global(from)), "l"(staying()));
  }
  return unit;
}
#else
template <bool Constant, class Unit>
KGEN_FN Unit load_unit(const Unit* from) {
  return *from;
}
#endif
template <class Unit, bool Constant, int Bytes>
KGEN_FN Block<Bytes> load_units(const void* from) {
  Block<Bytes> block;
  KGEN_UNROLL
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(Unit)); ++i) {
    const Unit unit = load_unit<Constant>(static_cast<const Unit*>(from) + i);
    memcpy(reinterpret_cast<unsigned char*>(&block) + i * sizeof(Unit), &unit, sizeof(Unit));
  }
  return block;
}
template <int Bytes, bool Constant = false>
KGEN_FN Block<Bytes> load_global(const void* from) {
  if constexpr (Bytes >= 16) {
    return load_units<uint4, Constant, Bytes>(from);
  } else if constexpr (Bytes == 8) {
    return load_units<uint2, Constant, Bytes>(from);
  } else {
    return *static_cast<const Block<Bytes>*>(from);
  }
}
template <int Bytes>
KGEN_FN Block<Bytes> load_constant(const void* from) {
  return load_global<Bytes, true>(from);
}
// Past the first-level cache.
template <int Bytes>
KGEN_FN Block<Bytes> load_passing(const void* from) {
  static_assert(Bytes == 16);
  uint4 unit;
  asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
               : "l"(__cvta_generic_to_global(from)));
  return {{unit.x, unit.y, unit.z, unit.w}};
}

// One instruction for each unit: an assignment may become one for each of its words.
KGEN_FN void store_unit(uint4* to, uint4 unit) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(unit.x), "r"(unit.y), "r"(unit.z), "r"(unit.w)
               : "memory");
}
KGEN_FN void store_unit(uint2* to, uint2 unit) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(unit.x), "r"(unit.y)
               : "memory");
}
KGEN_FN void store_shared(void* to, const Block<16>& block) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "r"(block.words[0]),
                 "r"(block.words[1]), "r"(block.words[2]), "r"(block.words[3])
               : "memory");
}
template <class Unit, int Bytes>
KGEN_FN void store_units(void* to, const Block<Bytes>& block) {
  KGEN_UNROLL
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(Unit)); ++i) {
    Unit unit;
    memcpy(&unit, reinterpret_cast<const unsigned char*>(&block) + i * sizeof(Unit), sizeof(Unit));
    store_unit(static_cast<Unit*>(to) + i, unit);
  }
}
template <int Bytes>
KGEN_FN void store_global(void* to, const Block<Bytes>& block) {
  if constexpr (Bytes >= 16) {
    store_units<uint4>(to, block);
  } else if constexpr (Bytes == 8) {
    store_units<uint2>(to, block);
  } else {
    *static_cast<Block<Bytes>*>(to) = block;
  }
}

}  // namespace kgen::gpu
