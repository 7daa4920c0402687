// What differs between the compilers that read these headers: g++ and clang++ for the CPU, nvcc for CUDA, hipcc and
// clang++ for HIP, and g++ for the SIMT executor of the tests, which runs GPU kernels on the CPU.
#pragma once

// One of KGEN_CUDA, KGEN_HIP and KGEN_SIMT is defined for a GPU target, and KGEN_GPU with it. A build defines it for the
// files that its host compiler reads; the device compilers are recognised.
#if !defined(KGEN_CUDA) && !defined(KGEN_HIP) && !defined(KGEN_SIMT)
#if defined(__HIP__) || defined(__HIP_PLATFORM_NVIDIA__)
#define KGEN_HIP 1
#elif defined(__CUDACC__)
#define KGEN_CUDA 1
#endif
#endif
#if defined(KGEN_CUDA) || defined(KGEN_HIP) || defined(KGEN_SIMT)
#define KGEN_GPU 1
#endif

// KGEN_FN: everything inside a kernel's innermost loops, on the host as well. The CPU compilers must inline it, also
// without optimisation: it passes vector registers by value. KGEN_LAMBDA: the same for a lambda, after its parameters.
// The executor's threads have no such registers: what its compiler chooses to inline runs as fast, and compiles in a
// third of the time.
// KGEN_LONG_FN: one so long, and asked for at so many places, that on the CPU it stands once and is called.
// KGEN_GLOBAL(threads, blocks): a kernel that is launched on a GPU, in blocks of at most so many threads, of which so
// many are to find registers in a multiprocessor at once. KGEN_GRID_CONSTANT: before a parameter of such a kernel that
// the device reads where it lies.
// KGEN_UNROLL: before a loop over the lanes or axes of something that lives in registers. KGEN_UNROLL_LOADS(count):
// before one of which so many turns are to load together; fewer on AMD's, whose compiler loads first whatever it takes.
// KGEN_UNROLL_STEPS: before one whose turns load what they multiply, which on AMD's would all load first and find no
// registers. KGEN_NO_UNROLL: before one whose copies would only take registers.
#if defined(__CUDACC__) || defined(__HIP__)
#define KGEN_FN inline __host__ __device__ __attribute__((always_inline))
#define KGEN_LONG_FN KGEN_FN
#define KGEN_LAMBDA __attribute__((always_inline))
#if defined(KGEN_HIP)
#define KGEN_GLOBAL(threads, blocks) __global__ void __launch_bounds__(threads)
#define KGEN_GRID_CONSTANT
#else
#define KGEN_GLOBAL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define KGEN_GRID_CONSTANT __grid_constant__
#endif
#define KGEN_UNROLL _Pragma("unroll")
#define KGEN_NO_UNROLL _Pragma("unroll 1")
#if defined(KGEN_HIP)
#define KGEN_UNROLL_LOADS(count) _Pragma("unroll 2")
#define KGEN_UNROLL_STEPS _Pragma("unroll 1")
#else
#define KGEN_UNROLL_STEPS _Pragma("unroll")
#define KGEN_PRAGMA(text) _Pragma(#text)
#define KGEN_UNROLL_LOADS(count) KGEN_PRAGMA(unroll count)
#endif
#else
#if defined(KGEN_SIMT)
#define KGEN_FN inline
#define KGEN_LAMBDA
#else
#define KGEN_FN inline __attribute__((always_inline))
#define KGEN_LAMBDA __attribute__((always_inline))
#endif
#define KGEN_LONG_FN inline __attribute__((noinline))
#define KGEN_GLOBAL(threads, blocks) void
#define KGEN_GRID_CONSTANT
#define KGEN_UNROLL
#define KGEN_UNROLL_STEPS
#define KGEN_NO_UNROLL
#define KGEN_UNROLL_LOADS(count)
#endif

namespace kgen {

// Where the code of the target lives, behind the same names.
namespace cpu {}
namespace gpu {}
#if defined(KGEN_GPU)
namespace target = gpu;
#else
namespace target = cpu;
#endif

// Bytes of the widest vector register of the instruction set this is compiled for. A GPU's lanes are each a register.
#if defined(KGEN_GPU)
inline constexpr int register_bytes = 0;
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define KGEN_AVX512 1
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#elif defined(__aarch64__) && defined(__ARM_FEATURE_SVE) && __ARM_FEATURE_SVE_BITS > 128
// Where -msve-vector-bits= says how long they are: what has a size can be an element of an array, or a field.
#define KGEN_SVE 1
inline constexpr int register_bytes = __ARM_FEATURE_SVE_BITS / 8;
#else
inline constexpr int register_bytes = 16;
#endif

}  // namespace kgen
