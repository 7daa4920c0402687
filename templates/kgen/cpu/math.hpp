// Elementary functions on whole vector registers: instructions where there is one, else SLEEF. A vector narrower than a
// register is padded to one, so that a lane's result does not depend on where in a row it stands.
#pragma once

#include <cmath>

#include "kgen/vec.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sleef.h>
#endif

namespace kgen::cpu {

// function(register) for each register of `v`; for each lane where the function knows no registers.
template <class Function, class T, int W>
KGEN_FN Vec<T, W> on_registers(Function function, const Vec<T, W>& v) {
  constexpr int lanes = lanes_of<T>;
  Vec<T, W> result;
  if constexpr (!std::is_invocable_v<Function, decltype(Vec<T, lanes>::data)>) {
    result = by_lane(v, v, [&](T x, T) KGEN_LAMBDA { return function(x); });
  } else if constexpr (W == lanes) {
    result.data = function(v.data);
  } else if constexpr (W > lanes) {
    result = concatenate(on_registers(function, low_half(v)), on_registers(function, high_half(v)));
  } else {
    result = low_half(on_registers(function, concatenate(v, v)));
  }
  return result;
}
template <class Function, class T, int W>
KGEN_FN Vec<T, W> on_registers(Function function, const Vec<T, W>& a, const Vec<T, W>& b) {
  constexpr int lanes = lanes_of<T>;
  using Register = decltype(Vec<T, lanes>::data);
  Vec<T, W> result;
  if constexpr (!std::is_invocable_v<Function, Register, Register>) {
    result = by_lane(a, b, [&](T x, T y) KGEN_LAMBDA { return function(x, y); });
  } else if constexpr (W == lanes) {
    result.data = function(a.data, b.data);
  } else if constexpr (W > lanes) {
    result = concatenate(on_registers(function, low_half(a), low_half(b)),
                         on_registers(function, high_half(a), high_half(b)));
  } else {
    result = low_half(on_registers(function, concatenate(a, a), concatenate(b, b)));
  }
  return result;
}

#if defined(KGEN_AVX512)
using Floats = __m512;
using Doubles = __m512d;
#define KGEN_SLEEF_FLOATS(name, accuracy) Sleef_##name##f16_##accuracy
#define KGEN_SLEEF_DOUBLES(name, accuracy) Sleef_##name##d8_##accuracy
#define KGEN_INTRINSIC(name) _mm512_##name
#define KGEN_ROUND(suffix) _mm512_roundscale_##suffix
#elif defined(__AVX2__)
using Floats = __m256;
using Doubles = __m256d;
#define KGEN_SLEEF_FLOATS(name, accuracy) Sleef_##name##f8_##accuracy
#define KGEN_SLEEF_DOUBLES(name, accuracy) Sleef_##name##d4_##accuracy
#define KGEN_INTRINSIC(name) _mm256_##name
#define KGEN_ROUND(suffix) _mm256_round_##suffix
#elif defined(__x86_64__)
using Floats = __m128;
using Doubles = __m128d;
#define KGEN_SLEEF_FLOATS(name, accuracy) Sleef_##name##f4_##accuracy
#define KGEN_SLEEF_DOUBLES(name, accuracy) Sleef_##name##d2_##accuracy
#define KGEN_INTRINSIC(name) _mm_##name
#define KGEN_ROUND(suffix) _mm_round_##suffix
#endif

// A function object with one overload for a register of floats and one for a register of doubles.
#if defined(KGEN_INTRINSIC)
#define KGEN_SLEEF(Name, name, accuracy)                                                               \
  struct Name {                                                                                        \
    KGEN_FN Floats operator()(Floats x) const { return KGEN_SLEEF_FLOATS(name, accuracy)(x); }         \
    KGEN_FN Doubles operator()(Doubles x) const { return KGEN_SLEEF_DOUBLES(name, accuracy)(x); }      \
  };
#else
#define KGEN_SLEEF(Name, name, accuracy)                        \
  struct Name {                                                 \
    float operator()(float x) const { return std::name(x); }    \
    double operator()(double x) const { return std::name(x); }  \
  };
#endif
KGEN_SLEEF(ExpFunction, exp, u10)
KGEN_SLEEF(LogFunction, log, u10)
KGEN_SLEEF(SinFunction, sin, u10)
KGEN_SLEEF(CosFunction, cos, u10)
KGEN_SLEEF(TanhFunction, tanh, u10)
KGEN_SLEEF(ErfFunction, erf, u10)
#undef KGEN_SLEEF

struct PowFunction {
#if defined(KGEN_INTRINSIC)
  KGEN_FN Floats operator()(Floats x, Floats y) const { return KGEN_SLEEF_FLOATS(pow, u10)(x, y); }
  KGEN_FN Doubles operator()(Doubles x, Doubles y) const { return KGEN_SLEEF_DOUBLES(pow, u10)(x, y); }
#else
  float operator()(float x, float y) const { return std::pow(x, y); }
  double operator()(double x, double y) const { return std::pow(x, y); }
#endif
};

struct SqrtFunction {
#if defined(KGEN_INTRINSIC)
  KGEN_FN Floats operator()(Floats x) const { return KGEN_INTRINSIC(sqrt_ps)(x); }
  KGEN_FN Doubles operator()(Doubles x) const { return KGEN_INTRINSIC(sqrt_pd)(x); }
#else
  float operator()(float x) const { return std::sqrt(x); }
  double operator()(double x) const { return std::sqrt(x); }
#endif
};

// Rounding to integral values needs SSE 4.1.
#if defined(KGEN_INTRINSIC) && defined(__SSE4_1__)
#define KGEN_ROUNDING(Name, name, mode)                                                                 \
  struct Name {                                                                                         \
    KGEN_FN Floats operator()(Floats x) const { return KGEN_ROUND(ps)(x, mode | _MM_FROUND_NO_EXC); }   \
    KGEN_FN Doubles operator()(Doubles x) const { return KGEN_ROUND(pd)(x, mode | _MM_FROUND_NO_EXC); } \
  };
#else
#define KGEN_ROUNDING(Name, name, mode)                        \
  struct Name {                                                \
    float operator()(float x) const { return std::name(x); }   \
    double operator()(double x) const { return std::name(x); } \
  };
#endif
KGEN_ROUNDING(FloorFunction, floor, _MM_FROUND_TO_NEG_INF)
KGEN_ROUNDING(CeilFunction, ceil, _MM_FROUND_TO_POS_INF)
KGEN_ROUNDING(RoundFunction, nearbyint, _MM_FROUND_TO_NEAREST_INT)
#undef KGEN_ROUNDING

// a * b + c with one rounding where the processor has it, else with two.
template <class T, int W>
KGEN_FN Vec<T, W> multiply_add(const Vec<T, W>& a, const Vec<T, W>& b, const Vec<T, W>& c) {
#if defined(KGEN_INTRINSIC) && defined(__FMA__)
  constexpr int lanes = lanes_of<T>;
  Vec<T, W> result;
  if constexpr (W > lanes) {
    result = concatenate(multiply_add(low_half(a), low_half(b), low_half(c)),
                         multiply_add(high_half(a), high_half(b), high_half(c)));
  } else if constexpr (W < lanes) {
    result = low_half(multiply_add(concatenate(a, a), concatenate(b, b), concatenate(c, c)));
  } else if constexpr (std::is_same_v<T, float>) {
    result.data = KGEN_INTRINSIC(fmadd_ps)(a.data, b.data, c.data);
  } else {
    result.data = KGEN_INTRINSIC(fmadd_pd)(a.data, b.data, c.data);
  }
  return result;
#else
  return a * b + c;
#endif
}

#undef KGEN_SLEEF_FLOATS
#undef KGEN_SLEEF_DOUBLES
#undef KGEN_INTRINSIC
#undef KGEN_ROUND

}  // namespace kgen::cpu
