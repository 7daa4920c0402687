// kgen/gpu/matrix_cores.hpp for AMD's devices: MFMA from CDNA 2 on, whose products of bf16 it has as those of f16, and
// WMMA of RDNA 3.
#pragma once

namespace kgen::gpu {

#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
inline constexpr bool has_mfma = true;
#else
inline constexpr bool has_mfma = false;
#endif
#if defined(__GFX11__)
inline constexpr bool has_wmma = true;
#else
inline constexpr bool has_wmma = false;
#endif

namespace detail {
// What the compiler's functions take: so many floats, or elements of 16 bits.
template <int Count>
using Floats = float __attribute__((ext_vector_type(Count)));
template <class T, int Count>
struct MatrixOperand {
  using Type = short __attribute__((ext_vector_type(Count)));
};
template <int Count>
struct MatrixOperand<f16, Count> {
  using Type = _Float16 __attribute__((ext_vector_type(Count)));
};
}  // namespace detail

template <class T>
KGEN_FN void mfma([[maybe_unused]] float (&sums)[16], [[maybe_unused]] const std::uint32_t (&a)[2],
                  [[maybe_unused]] const std::uint32_t (&b)[2]) {
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
  detail::Floats<16> all;
  typename detail::MatrixOperand<T, 4>::Type left, right;
  memcpy(&all, &sums, sizeof(all));
  memcpy(&left, &a, sizeof(left));
  memcpy(&right, &b, sizeof(right));
  if constexpr (std::is_same_v<T, f16>) {
    all = __builtin_amdgcn_mfma_f32_32x32x8f16(left, right, all, 0, 0, 0);
  } else {
    static_assert(std::is_same_v<T, bf16>);
    all = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(left, right, all, 0, 0, 0);
  }
  memcpy(&sums, &all, sizeof(all));
#endif
}

template <class T>
KGEN_FN void wmma([[maybe_unused]] float (&sums)[8], [[maybe_unused]] const std::uint32_t (&a)[8],
                  [[maybe_unused]] const std::uint32_t (&b)[8]) {
#if defined(__GFX11__)
  detail::Floats<8> all;
  typename detail::MatrixOperand<T, 16>::Type left, right;
  memcpy(&all, &sums, sizeof(all));
  memcpy(&left, &a, sizeof(left));
  memcpy(&right, &b, sizeof(right));
  if constexpr (std::is_same_v<T, f16>) {
    all = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, all);
  } else {
    static_assert(std::is_same_v<T, bf16>);
    all = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(left, right, all);
  }
  memcpy(&sums, &all, sizeof(all));
#endif
}

}  // namespace kgen::gpu
