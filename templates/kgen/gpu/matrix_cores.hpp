// What a kernel can ask of the matrix cores that a wave uses alone, and of copies that go on beside them, under the
// same names for CUDA, HIP and the SIMT executor of the tests. T: bf16 or f16; sums are f32. Terms and layouts are the
// vendors': PTX ISA 8.0, sections on mma, ldmatrix and cp.async; AMD's ISA documents of CDNA 2 and 3 (MFMA) and of
// RDNA 3 (WMMA). kgen/{cuda,hip,simt}/matrix_cores.hpp define:
//
//   has_mma, has_mfma, has_wmma    which of the products below this is compiled for: at most one, but on the executor
//   multiply_tile<T>(sums, a, b)   mma.sync m16n8k16: sums += a * b, of 16 rows, 8 columns and a depth of 16, by 32
//                                  lanes. Lane t has sums of rows t / 4 and t / 4 + 8, columns t % 4 * 2 and the next
//                                  one: sums[(row is the second) * 2 + column % 2]. a[2 * i + (row is the second)] are
//                                  two neighbours in depth of a row, from t % 4 * 2 + 8 * i on, b[i] the same of column
//                                  t / 4
//   load_matrices<Turned>(words, from)   ldmatrix: four matrices of 8 lines of 16 bytes, of which lane t says where
//                                  line t % 8 of matrix t / 8 begins, in shared memory. Lane t gets of each the word of
//                                  line t / 4 that has elements t % 4 * 2 and the next one; Turned: elements t / 4 of
//                                  line t % 4 * 2 and of the next one
//   copy_async(to, from, bytes)    cp.async: the first `bytes` of 16 come from memory to shared memory, zeros for the
//                                  others; both addresses are aligned
//   copy_async_where(there, to, from)   the same of all 16 bytes, or nothing at all, without a branch
//   copy_words_where<Bytes>(there, to, from, bytes)   the same of `Bytes`, 4, 8 or 16, from and to multiples of them:
//                                  the first `bytes`, and zeros for the others
//   commit_copies(), await_copies<Left>(where)   ends a group of this thread's copies; waits for all groups but the
//                                  `Left` latest. Before that nothing may look at where they go. Without has_mma
//                                  nothing is ever copied so
//   mfma<T>(sums, a, b)            v_mfma_f32_32x32x8: sums += a * b, of 32 rows, 32 columns and a depth of 8, by 64
//                                  lanes. Lane t has of row t % 32 of a, and of column t % 32 of b, four neighbours in
//                                  depth from t / 32 * 4 on, in two words. sums[i] is of row i / 4 * 8 + t / 32 * 4 +
//                                  i % 4 and of column t % 32. CDNA 2 takes subnormal operands for 0
//   wmma<T>(sums, a, b)            v_wmma_f32_16x16x16: sums += a * b, of 16 rows, 16 columns and a depth of 16, by 32
//                                  lanes. Lane t has all of row t % 16 of a, and of column t % 16 of b, in eight words:
//                                  lanes t and t + 16 the same. sums[i] is of row 2 * i + t / 16 and of column t % 16
#pragma once

#include <type_traits>

#include "kgen/gpu/launch.hpp"
#include "kgen/types.hpp"

#if defined(KGEN_SIMT)
#include "kgen/simt/matrix_cores.hpp"

namespace kgen::gpu {
inline bool runs_threads(const void*, int, Stream) { return true; }
}  // namespace kgen::gpu

#else
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#include "kgen/cuda/matrix_cores.hpp"
#elif defined(__HIP_DEVICE_COMPILE__)
#include "kgen/hip/matrix_cores.hpp"
#endif

namespace kgen::gpu {

// Where this is compiled for none of it, nothing of it is ever called: the host's pass of the compiler, and old
// devices.
#if !(defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
inline constexpr bool has_mma = false;
template <class T>
KGEN_FN void multiply_tile(float (&)[4], const std::uint32_t (&)[4], const std::uint32_t (&)[2]) {}
template <bool Turned>
KGEN_FN void load_matrices(std::uint32_t (&)[4], const void*) {}
KGEN_FN void copy_async(void*, const void*, int) {}
KGEN_FN void copy_async_where(bool, void*, const void*) {}
template <int Bytes>
KGEN_FN void copy_words_where(bool, void*, const void*, int) {}
KGEN_FN void commit_copies() {}
template <int Left>
KGEN_FN void await_copies(Where = Where::here()) {}
#endif
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
inline constexpr bool has_mfma = false, has_wmma = false;
template <class T>
KGEN_FN void mfma(float (&)[16], const std::uint32_t (&)[2], const std::uint32_t (&)[2]) {}
template <class T>
KGEN_FN void wmma(float (&)[8], const std::uint32_t (&)[8], const std::uint32_t (&)[8]) {}
#endif

// Whether `kernel` was compiled for blocks of so many threads for the current device: a kernel declares fewer where
// what it is compiled for has not what it needs.
inline bool runs_threads(const void* kernel, int threads, Stream stream) {
  static AskedOnce<int> known;
  const int most = known({current_device(stream), kernel}, [&] {
    int answer = 0;
    require(api::most_threads(&answer, kernel), stream, "asking how many threads a kernel runs with");
    return answer;
  });
  return most >= threads;
}

}  // namespace kgen::gpu

#endif
