// W elements of any storage type: from memory to lanes of their compute type, and back.
#pragma once

#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

#if defined(__F16C__)
template <int W>
KGEN_FN Vec<float, W> load_f16(const f16* from) {
  Vec<float, W> result;
  if constexpr (W < 4) {
    f16 padded[2 * W] = {};
    std::memcpy(padded, from, sizeof(f16) * W);
    result = low_half(load_f16<2 * W>(padded));
  } else if constexpr (Vec<float, W>::form == detail::Form::halves) {
    result = concatenate(load_f16<W / 2>(from), load_f16<W / 2>(from + W / 2));
  } else if constexpr (W == 4) {
    result.data = _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  } else if constexpr (W == 8) {
    result.data = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  } else {
#if defined(KGEN_AVX512)
    result.data = _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#endif
  }
  return result;
}
template <int W>
KGEN_FN void store_f16(f16* to, const Vec<float, W>& v) {
  if constexpr (W < 4) {
    f16 padded[2 * W];
    store_f16(padded, concatenate(v, v));
    std::memcpy(to, padded, sizeof(f16) * W);
  } else if constexpr (Vec<float, W>::form == detail::Form::halves) {
    store_f16(to, low_half(v));
    store_f16(to + W / 2, high_half(v));
  } else if constexpr (W == 4) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvtps_ph(v.data, _MM_FROUND_TO_NEAREST_INT));
  } else if constexpr (W == 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(v.data, _MM_FROUND_TO_NEAREST_INT));
  } else {
#if defined(KGEN_AVX512)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_maskz_cvtps_ph(0xffff, v.data, _MM_FROUND_TO_NEAREST_INT));
#endif
  }
}
#endif

template <class T, class Bits>
KGEN_FN Bits widen_codes(const Bits& codes) {
  if constexpr (std::is_same_v<T, f16>) {
    return widen_bits<F16Format>(codes);
  } else if constexpr (std::is_same_v<T, bf16>) {
    return widen_bf16_bits(codes);
  } else if constexpr (std::is_same_v<T, f8e4m3>) {
    return widen_bits<F8E4M3Format>(codes);
  } else {
    return widen_bits<F8E5M2Format>(codes);
  }
}
template <class T, class Bits>
KGEN_FN Bits narrow_codes(const Bits& bits) {
  if constexpr (std::is_same_v<T, f16>) {
    return narrow_bits<F16Format>(bits);
  } else if constexpr (std::is_same_v<T, bf16>) {
    return narrow_bf16_bits(bits);
  } else if constexpr (std::is_same_v<T, f8e4m3>) {
    return narrow_bits<F8E4M3Format>(bits);
  } else {
    return narrow_bits<F8E5M2Format>(bits);
  }
}

// The float that rounds to any narrower format as the double itself does: the double truncated, its last bit set where
// that lost something.
template <int W>
KGEN_FN Vec<float, W> round_to_odd(const Vec<double, W>& v) {
  using Bits = Vec<std::uint32_t, W>;
  const Vec<float, W> nearest = convert<float>(v);
  const Vec<double, W> back = convert<double>(nearest);
  const Bits truncated = as_bits(nearest) - select(abs(v) < abs(back), Bits(1), Bits(0));
  return as_float(truncated | select(back != v, Bits(1), Bits(0)));
}

// What a store of these lanes as elements of a narrow type rounds: floats themselves, others without rounding twice
// (64-bit integers beyond 2^53 excepted).
template <class U, int W>
KGEN_FN Vec<float, W> before_narrowing(const Vec<U, W>& v) {
  if constexpr (std::is_same_v<U, float>) {
    return v;
  } else if constexpr (sizeof(U) <= 2 || std::is_same_v<U, bool>) {
    return convert<float>(v);
  } else {
    return round_to_odd(convert<double>(v));
  }
}

}  // namespace kgen::cpu

namespace kgen {

// W consecutive elements as lanes of the type that arithmetic on them is done in.
template <int W, class T>
KGEN_FN Vec<compute_t<T>, W> load_elements(const T* from) {
  if constexpr (!is_narrow_float<T>) {
    return load_lanes<W>(from);
  } else {
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, f16>) return cpu::load_f16<W>(from);
#endif
    const auto codes = load_lanes<W>(&from->bits);
    return as_float(cpu::widen_codes<T>(convert<std::uint32_t>(codes)));
  }
}

// The lanes as W consecutive elements of type T, converted as convert() does, or rounded to nearest even.
template <class T, class U, int W>
KGEN_FN void store_elements(T* to, const Vec<U, W>& v) {
  if constexpr (!is_narrow_float<T>) {
    store_lanes(to, convert<T>(v));
  } else {
    const Vec<float, W> value = cpu::before_narrowing(v);
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, f16>) return cpu::store_f16(to, value);
#endif
    const auto codes = cpu::narrow_codes<T>(as_bits(value));
    store_lanes(&to->bits, convert<decltype(T::bits)>(codes));
  }
}

// The lanes rounded to what an element of type T can hold, in its compute type.
template <class T, class U, int W>
KGEN_FN Vec<compute_t<T>, W> round_to(const Vec<U, W>& v) {
  if constexpr (!is_narrow_float<T>) {
    return convert<T>(v);
  } else {
    return as_float(cpu::widen_codes<T>(cpu::narrow_codes<T>(as_bits(cpu::before_narrowing(v)))));
  }
}

}  // namespace kgen
