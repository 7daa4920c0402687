// Arithmetic of single lanes that a GPU does faster, or in another way, than C++ says. Where memory is what a kernel
// waits for, every instruction of a lane counts: an H200 has room for about 30 between the two bytes read and written
// of a bf16.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kgen/platform.hpp"

namespace kgen::gpu {

// a * b, rounded by itself. A compiler for GPUs takes a plain product into the addition that follows, without rounding it:
// what is cut off to an integer behind the two would be another number than where operators follow each other.
template <std::floating_point T>
KGEN_FN T multiply(T a, T b) {
#if defined(__HIP_DEVICE_COMPILE__) && defined(__clang__)
#pragma clang fp contract(off)
#endif
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) {
    return __fmul_rn(a, b);
  } else {
    return __dmul_rn(a, b);
  }
#else
  return a * b;
#endif
}

// 1 / x, within 1 ulp, of a normal x whose reciprocal is normal; of 0 and of infinities as in C++.
KGEN_FN float reciprocal_of_normal(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return 1.0f / x;
#endif
}

// a / b, within 3 ulp, as a times the reciprocal of b, which is computed once where many are divided by the same. A
// power of two brings b to where its reciprocal is normal. The reciprocal of what is greater than 2^126 is subnormal:
// 7 ulp; what is smaller than 2^-128 divides as 0 does. IEEE division takes a branch and three times the instructions: a
// graph with `numerics: match_unfused` has it.
KGEN_FN float divide(float a, float b) {
#if defined(__CUDA_ARCH__) && !defined(KGEN_MATCH_UNFUSED)
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(b) & 0x7fffffffu;
  const float scale = magnitude > 0x7e800000u ? 0x1p-24f : magnitude < 0x00800000u ? 0x1p24f : 1.0f;
  return a * (reciprocal_of_normal(b * scale) * scale);
#else
  return a / b;
#endif
}
KGEN_FN double divide(double a, double b) { return a / b; }

// 1 / sqrt(x), within 2 ulp.
KGEN_FN float reciprocal_sqrt(float x) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return rsqrtf(x);
#else
  return 1.0f / sqrtf(x);
#endif
}
KGEN_FN double reciprocal_sqrt(double x) { return 1.0 / ::sqrt(x); }

// 2 to the power x, within 3 ulp; 0 where that is subnormal.
KGEN_FN float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return exp2f(x);
#endif
}

// The greater and the lesser; NaN where either is NaN.
KGEN_FN float greater(float a, float b) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a != a || a > b ? a : b;
#endif
}
KGEN_FN float lesser(float a, float b) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a != a || a < b ? a : b;
#endif
}

}  // namespace kgen::gpu
