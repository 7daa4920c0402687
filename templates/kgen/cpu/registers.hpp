// What vector registers can do that operators on them cannot say: the instructions of the widest registers, under one
// name for every instruction set. KGEN_REGISTERS is defined where there are any, KGEN_FUSED where they multiply and add
// with one rounding, KGEN_ROUNDS where they round to integral values, KGEN_STREAMS where they are stored past the caches.
#pragma once

#include "kgen/platform.hpp"

namespace kgen::cpu {

// To an integral value: the nearest (halves to even), or the next one down, up or towards zero.
enum class Rounding { nearest, down, up, to_zero };

}  // namespace kgen::cpu

// Introspection reads declarations alone, and a quarter of its time would go into those of the intrinsics.
#if defined(__aarch64__) && !defined(KGEN_INTROSPECT)
#include "kgen/cpu/arm_registers.hpp"
#elif defined(__x86_64__) && !defined(KGEN_INTROSPECT)
#include <immintrin.h>

#include <cstring>

namespace kgen::cpu {

#define KGEN_REGISTERS 1
#define KGEN_STREAMS 1
#if defined(__FMA__)
#define KGEN_FUSED 1
#endif
#if defined(__SSE4_1__)
#define KGEN_ROUNDS 1
#endif

static_assert(static_cast<int>(Rounding::nearest) == _MM_FROUND_TO_NEAREST_INT &&
              static_cast<int>(Rounding::down) == _MM_FROUND_TO_NEG_INF &&
              static_cast<int>(Rounding::up) == _MM_FROUND_TO_POS_INF &&
              static_cast<int>(Rounding::to_zero) == _MM_FROUND_TO_ZERO);
template <Rounding Direction>
inline constexpr int rounding_mode = static_cast<int>(Direction) | _MM_FROUND_NO_EXC;

#if defined(__AVX2__)
// 8 or 16 bytes, each as an integer of 32 bits. gcc 12 took bytes that it had put in order itself apart again, and
// widened them one by one.
#define KGEN_WIDENS_BYTES 1
template <int Count, bool Signed>
KGEN_FN void widen_bytes(void* to, const void* from) {
  __m128i bytes{};
  std::memcpy(&bytes, from, Count);
#if defined(KGEN_AVX512)
  if constexpr (Count == 16) {
    const __m512i all = Signed ? _mm512_maskz_cvtepi8_epi32(0xffff, bytes) : _mm512_maskz_cvtepu8_epi32(0xffff, bytes);
    std::memcpy(to, &all, sizeof(all));
    return;
  }
#endif
  // Where a byte goes in its 32 bits, with zeros beside it.
  constexpr auto place = [](int byte) {
    return Signed ? byte << 24 | 0x00808080 : byte | static_cast<int>(0x80808000);
  };
  __m256i lanes[Count / 8];
  if constexpr (Count == 8) {
    lanes[0] = Signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  } else {  // as shuffles within halves, of which each takes a step; what widens across them takes three of Zen 3
    const __m256i twice = _mm256_set_m128i(bytes, bytes);
    const __m256i first =
        _mm256_setr_epi32(place(0), place(1), place(2), place(3), place(4), place(5), place(6), place(7));
    lanes[0] = _mm256_shuffle_epi8(twice, first);
    lanes[1] = _mm256_shuffle_epi8(twice, _mm256_add_epi32(first, _mm256_set1_epi32(Signed ? 0x08000000 : 8)));
    for (__m256i& each : lanes) {
      if (Signed) each = _mm256_srai_epi32(each, 24);
    }
  }
  std::memcpy(to, lanes, sizeof(lanes));
}
#endif

// Of one lane, which a whole register would take several times as long for.
KGEN_FN float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
KGEN_FN double square_root(double x) { return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))); }

#if defined(KGEN_AVX512)

using Floats = __m512;
using Doubles = __m512d;
// Zero-masked with every lane set: GCC 12 warns of the undefined register in the plain forms.
KGEN_FN Floats square_root(Floats x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
KGEN_FN Doubles square_root(Doubles x) { return _mm512_maskz_sqrt_pd(0xff, x); }
template <Rounding Direction>
KGEN_FN Floats rounded(Floats x) {
  return _mm512_maskz_roundscale_ps(0xffff, x, rounding_mode<Direction>);
}
template <Rounding Direction>
KGEN_FN Doubles rounded(Doubles x) {
  return _mm512_maskz_roundscale_pd(0xff, x, rounding_mode<Direction>);
}
KGEN_FN Floats fused(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
KGEN_FN Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm512_fmadd_pd(a, b, c); }
// b where either is NaN.
KGEN_FN Floats lesser(Floats a, Floats b) { return _mm512_maskz_min_ps(0xffff, a, b); }
KGEN_FN Doubles lesser(Doubles a, Doubles b) { return _mm512_maskz_min_pd(0xff, a, b); }
KGEN_FN Floats greater(Floats a, Floats b) { return _mm512_maskz_max_ps(0xffff, a, b); }
KGEN_FN Doubles greater(Doubles a, Doubles b) { return _mm512_maskz_max_pd(0xff, a, b); }
// To an address that is a multiple of the register's size, past the caches.
KGEN_FN void stream_register(void* to, Floats x) { _mm512_stream_ps(static_cast<float*>(to), x); }
// x * 2^n, rounded once.
KGEN_FN Floats times_power_of_two(Floats x, Floats n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }
KGEN_FN Doubles times_power_of_two(Doubles x, Doubles n) { return _mm512_maskz_scalef_pd(0xff, x, n); }

#elif defined(__AVX2__)

using Floats = __m256;
using Doubles = __m256d;
KGEN_FN Floats square_root(Floats x) { return _mm256_sqrt_ps(x); }
KGEN_FN Doubles square_root(Doubles x) { return _mm256_sqrt_pd(x); }
KGEN_FN void stream_register(void* to, Floats x) { _mm256_stream_ps(static_cast<float*>(to), x); }
KGEN_FN Floats lesser(Floats a, Floats b) { return _mm256_min_ps(a, b); }
KGEN_FN Doubles lesser(Doubles a, Doubles b) { return _mm256_min_pd(a, b); }
KGEN_FN Floats greater(Floats a, Floats b) { return _mm256_max_ps(a, b); }
KGEN_FN Doubles greater(Doubles a, Doubles b) { return _mm256_max_pd(a, b); }
template <Rounding Direction>
KGEN_FN Floats rounded(Floats x) {
  return _mm256_round_ps(x, rounding_mode<Direction>);
}
template <Rounding Direction>
KGEN_FN Doubles rounded(Doubles x) {
  return _mm256_round_pd(x, rounding_mode<Direction>);
}
#if defined(__FMA__)
KGEN_FN Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
KGEN_FN Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
#endif

#else

using Floats = __m128;
using Doubles = __m128d;
KGEN_FN Floats square_root(Floats x) { return _mm_sqrt_ps(x); }
KGEN_FN Doubles square_root(Doubles x) { return _mm_sqrt_pd(x); }
KGEN_FN void stream_register(void* to, Floats x) { _mm_stream_ps(static_cast<float*>(to), x); }
KGEN_FN Floats lesser(Floats a, Floats b) { return _mm_min_ps(a, b); }
KGEN_FN Doubles lesser(Doubles a, Doubles b) { return _mm_min_pd(a, b); }
KGEN_FN Floats greater(Floats a, Floats b) { return _mm_max_ps(a, b); }
KGEN_FN Doubles greater(Doubles a, Doubles b) { return _mm_max_pd(a, b); }
#if defined(__SSE4_1__)
template <Rounding Direction>
KGEN_FN Floats rounded(Floats x) {
  return _mm_round_ps(x, rounding_mode<Direction>);
}
template <Rounding Direction>
KGEN_FN Doubles rounded(Doubles x) {
  return _mm_round_pd(x, rounding_mode<Direction>);
}
#endif

#endif

}  // namespace kgen::cpu

#endif
