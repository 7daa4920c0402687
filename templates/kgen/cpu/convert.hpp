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

}  // namespace kgen::cpu
