// Conversions that the processor has instructions for.
#pragma once

#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

// True where load_converted and store_converted exist: kgen/convert.hpp does the others by their bits.
template <class T>
inline constexpr bool converts = false;
template <int W, class T>
Vec<float, W> load_converted(const T* from);
template <class T, int W>
void store_converted(T* to, const Vec<float, W>& v);

#if defined(__F16C__)
template <>
inline constexpr bool converts<f16> = true;
template <int W>
KGEN_FN Vec<float, W> load_converted(const f16* from) {
  Vec<float, W> result;
  if constexpr (W < 4) {
    f16 padded[2 * W] = {};
    std::memcpy(padded, from, sizeof(f16) * W);
    result = low_half(load_converted<2 * W>(padded));
  } else if constexpr (Vec<float, W>::form == detail::Form::halves) {
    result = concatenate(load_converted<W / 2>(from), load_converted<W / 2>(from + W / 2));
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
KGEN_FN void store_converted(f16* to, const Vec<float, W>& v) {
  if constexpr (W < 4) {
    f16 padded[2 * W];
    store_converted(padded, concatenate(v, v));
    std::memcpy(to, padded, sizeof(f16) * W);
  } else if constexpr (Vec<float, W>::form == detail::Form::halves) {
    store_converted(to, low_half(v));
    store_converted(to + W / 2, high_half(v));
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

#if defined(__AVX2__) && !defined(KGEN_AVX512)
// Eight codes at once. gcc 12 widens them in halves that it joins, and narrows in 14 instructions.
template <>
inline constexpr bool converts<bf16> = true;
template <int W>
KGEN_FN Vec<float, W> load_converted(const bf16* from) {
  if constexpr (W < 8) {
    return as_float(widen_bf16_bits(convert<std::uint32_t>(load_lanes<W>(&from->bits))));
  } else if constexpr (W > 8) {
    return concatenate(load_converted<W / 2>(from), load_converted<W / 2>(from + W / 2));
  } else {
    const __m256i codes = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    Vec<float, W> result;
    result.data = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 16));
    return result;
  }
}
template <int W>
KGEN_FN void store_converted(bf16* to, const Vec<float, W>& v) {
  if constexpr (W < 8) {
    store_lanes(&to->bits, convert<std::uint16_t>(narrow_bf16_bits(as_bits(v))));
  } else if constexpr (W > 8) {
    store_converted(to, low_half(v));
    store_converted(to + W / 2, high_half(v));
  } else {
    // As narrow_bf16_bits does.
    const __m256i bits = _mm256_castps_si256(v.data);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 chosen = _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet),
                                           _mm256_cmp_ps(v.data, v.data, _CMP_UNORD_Q));
    const __m256i codes = _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1)));
  }
}
#endif

}  // namespace kgen::cpu
