// Elementary functions on a GPU: the device library's (or, for the SIMT executor, the C library's), lane by lane.
#pragma once

#include <cmath>

#include "kgen/vec.hpp"

namespace kgen::gpu {

// function(lanes...) of each lane.
template <class Function, class T, int W, class... Rest>
KGEN_FN Vec<T, W> on_registers(Function function, const Vec<T, W>& v, const Rest&... rest) {
  if constexpr (W == 1) {
    return Vec<T, 1>(function(v.data, rest.data...));
  } else {
    return concatenate(on_registers(function, low_half(v), low_half(rest)...),
                       on_registers(function, high_half(v), high_half(rest)...));
  }
}

// Function objects with one overload for floats and one for doubles.
#define KGEN_FUNCTION(Name, name)                                    \
  struct Name {                                                      \
    KGEN_FN float operator()(float x) const { return name##f(x); }   \
    KGEN_FN double operator()(double x) const { return ::name(x); }  \
  };
KGEN_FUNCTION(ExpFunction, exp)
using ExpNonpositiveFunction = ExpFunction;
KGEN_FUNCTION(LogFunction, log)
KGEN_FUNCTION(SinFunction, sin)
KGEN_FUNCTION(CosFunction, cos)
KGEN_FUNCTION(TanhFunction, tanh)
KGEN_FUNCTION(ErfFunction, erf)
KGEN_FUNCTION(TanFunction, tan)
KGEN_FUNCTION(AsinFunction, asin)
KGEN_FUNCTION(AcosFunction, acos)
KGEN_FUNCTION(AtanFunction, atan)
KGEN_FUNCTION(SinhFunction, sinh)
KGEN_FUNCTION(CoshFunction, cosh)
KGEN_FUNCTION(AsinhFunction, asinh)
KGEN_FUNCTION(AcoshFunction, acosh)
KGEN_FUNCTION(AtanhFunction, atanh)
KGEN_FUNCTION(Exp2Function, exp2)
KGEN_FUNCTION(Expm1Function, expm1)
KGEN_FUNCTION(Log2Function, log2)
KGEN_FUNCTION(Log10Function, log10)
KGEN_FUNCTION(Log1pFunction, log1p)
KGEN_FUNCTION(SqrtFunction, sqrt)
#undef KGEN_FUNCTION

struct PowFunction {
  KGEN_FN float operator()(float x, float y) const { return powf(x, y); }
  KGEN_FN double operator()(double x, double y) const { return ::pow(x, y); }
};
struct Atan2Function {
  KGEN_FN float operator()(float y, float x) const { return atan2f(y, x); }
  KGEN_FN double operator()(double y, double x) const { return ::atan2(y, x); }
};
struct FmodFunction {
  KGEN_FN float operator()(float x, float y) const { return fmodf(x, y); }
  KGEN_FN double operator()(double x, double y) const { return ::fmod(x, y); }
};

// To an integral value: the nearest (halves to even), or the next one down, up or towards zero.
enum class Rounding { nearest, down, up, to_zero };
template <Rounding Direction>
struct RoundFunction {
  KGEN_FN float operator()(float x) const {
    return Direction == Rounding::down      ? floorf(x)
           : Direction == Rounding::up      ? ceilf(x)
           : Direction == Rounding::to_zero ? truncf(x)
                                            : rintf(x);
  }
  KGEN_FN double operator()(double x) const {
    return Direction == Rounding::down      ? ::floor(x)
           : Direction == Rounding::up      ? ::ceil(x)
           : Direction == Rounding::to_zero ? ::trunc(x)
                                            : ::rint(x);
  }
};

// a * b + c with one rounding.
struct MultiplyAddFunction {
  KGEN_FN float operator()(float a, float b, float c) const { return fmaf(a, b, c); }
  KGEN_FN double operator()(double a, double b, double c) const { return ::fma(a, b, c); }
};

// The standard normal distribution function. For floats 2^P(|x|) is the tail below -|x|, with a polynomial P whose
// worst error, weighted by the tail, is least on [0, 6] (fitted by linear programming): within 2e-7, and a third of
// what the error function costs, which in the tail has lost its digits when 1 is added.
struct NormalDistributionFunction {
  KGEN_FN float operator()(float x) const {
    const float distance = fabsf(x);
    float exponent = -1.9208753e-06f;
    exponent = fmaf(exponent, distance, 2.8302015e-05f);
    exponent = fmaf(exponent, distance, -1.3292681e-04f);
    exponent = fmaf(exponent, distance, -2.6712700e-04f);
    exponent = fmaf(exponent, distance, 7.2355897e-03f);
    exponent = fmaf(exponent, distance, -5.2616973e-02f);
    exponent = fmaf(exponent, distance, -4.5916745e-01f);
    exponent = fmaf(exponent, distance, -1.1511104e+00f);
    exponent = fmaf(exponent, distance, -9.9999989e-01f);
    const float tail = power_of_two(exponent);
    return x < 0 ? tail : 1.0f - tail;
  }
  KGEN_FN double operator()(double x) const { return 0.5 * ::erfc(x * -0.70710678118654752440); }
};

}  // namespace kgen::gpu
