// NVIDIA's conversions between floats and narrower ones, two at a time. NaN becomes the canonical one.
#pragma once

#include "kgen/vec.hpp"

namespace kgen::gpu {

template <>
inline constexpr bool converts<f16> = true;
template <>
inline constexpr bool converts<bf16> = true;
#if __CUDA_ARCH__ >= 890
template <>
inline constexpr bool converts<f8e4m3> = true;
template <>
inline constexpr bool converts<f8e5m2> = true;
#endif

KGEN_FN float widen_half(std::uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// The bits of two elements, the first in the lower half.
template <class T>
using Pair = std::conditional_t<sizeof(T) == 1, std::uint16_t, std::uint32_t>;

// Two floats of 8 bits as bits, as a pair of f16, exactly.
template <class T>
KGEN_FN std::uint32_t widen_to_halves(std::uint32_t bits) {
  std::uint32_t halves;
  if constexpr (std::is_same_v<T, f8e4m3>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(bits)));
  } else {
    static_assert(std::is_same_v<T, f8e5m2>);
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(bits)));
  }
  return halves;
}

// Two elements as bits, as two floats.
template <class T>
KGEN_FN void widen_pair(std::uint32_t bits, float& first, float& second) {
  if constexpr (std::is_same_v<T, bf16>) {
    first = as_float(bits << 16);
    second = as_float(bits & 0xffff0000u);
  } else {
    std::uint32_t halves = bits;
    if constexpr (sizeof(T) == 1) halves = widen_to_halves<T>(bits);
    first = widen_half(static_cast<std::uint16_t>(halves));
    second = widen_half(static_cast<std::uint16_t>(halves >> 16));
  }
}

// Two floats, rounded to nearest even, as the bits of two elements.
template <class T>
KGEN_FN std::uint32_t narrow_pair(float first, float second) {
  std::uint32_t bits = 0;
  std::uint16_t codes = 0;
  if constexpr (std::is_same_v<T, bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  } else if constexpr (std::is_same_v<T, f16>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  } else if constexpr (std::is_same_v<T, f8e4m3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    bits = codes;
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    bits = codes;
  }
  return bits;
}

template <int W, class T>
KGEN_FN Vec<float, W> load_converted(const T* from) {
  float first, second;
  if constexpr (W == 1) {
    widen_pair<T>(from->bits, first, second);
    return first;
  } else if constexpr (W == 2) {
    Pair<T> pair;  // one word: taken apart into elements, it would be put together again
    memcpy(&pair, from, sizeof(pair));
    widen_pair<T>(pair, first, second);
    return concatenate(Vec<float, 1>(first), Vec<float, 1>(second));
  } else {
    return concatenate(load_converted<W / 2>(from), load_converted<W / 2>(from + W / 2));
  }
}

template <class T, int W>
KGEN_FN void store_converted(T* to, const Vec<float, W>& v) {
  using Code = decltype(T::bits);
  if constexpr (W == 1) {
    to->bits = static_cast<Code>(narrow_pair<T>(v.data, v.data));
  } else if constexpr (W == 2) {
    const auto pair = static_cast<Pair<T>>(narrow_pair<T>(v[0], v[1]));
    memcpy(to, &pair, sizeof(pair));
  } else {
    store_converted(to, low_half(v));
    store_converted(to + W / 2, high_half(v));
  }
}

}  // namespace kgen::gpu
