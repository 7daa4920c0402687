// What vector registers can do that operators on them cannot say: the instructions of the widest registers, under one
// name for every instruction set. KGEN_REGISTERS is defined where there are any.
#pragma once

#include "kgen/platform.hpp"

// Introspection reads declarations alone, and a quarter of its time would go into those of the intrinsics.
#if defined(__x86_64__) && !defined(KGEN_INTROSPECT)
#include <immintrin.h>

namespace kgen::cpu {

#define KGEN_REGISTERS 1

// Of one lane, which a whole register would take several times as long for.
KGEN_FN float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
KGEN_FN double square_root(double x) { return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))); }

#if defined(KGEN_AVX512)

using Floats = __m512;
using Doubles = __m512d;
// Zero-masked with every lane set: GCC 12 warns of the undefined register in the plain forms.
KGEN_FN Floats square_root(Floats x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
KGEN_FN Doubles square_root(Doubles x) { return _mm512_maskz_sqrt_pd(0xff, x); }
template <int Mode>
KGEN_FN Floats rounded(Floats x) {
  return _mm512_maskz_roundscale_ps(0xffff, x, Mode | _MM_FROUND_NO_EXC);
}
template <int Mode>
KGEN_FN Doubles rounded(Doubles x) {
  return _mm512_maskz_roundscale_pd(0xff, x, Mode | _MM_FROUND_NO_EXC);
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
template <int Mode>
KGEN_FN Floats rounded(Floats x) {
  return _mm256_round_ps(x, Mode | _MM_FROUND_NO_EXC);
}
template <int Mode>
KGEN_FN Doubles rounded(Doubles x) {
  return _mm256_round_pd(x, Mode | _MM_FROUND_NO_EXC);
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
template <int Mode>
KGEN_FN Floats rounded(Floats x) {
  return _mm_round_ps(x, Mode | _MM_FROUND_NO_EXC);
}
template <int Mode>
KGEN_FN Doubles rounded(Doubles x) {
  return _mm_round_pd(x, Mode | _MM_FROUND_NO_EXC);
}
#endif

#endif

}  // namespace kgen::cpu

#endif
