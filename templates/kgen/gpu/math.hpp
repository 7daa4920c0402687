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
KGEN_FUNCTION(LogFunction, log)
KGEN_FUNCTION(SinFunction, sin)
KGEN_FUNCTION(CosFunction, cos)
KGEN_FUNCTION(TanhFunction, tanh)
KGEN_FUNCTION(ErfFunction, erf)
KGEN_FUNCTION(SqrtFunction, sqrt)
#undef KGEN_FUNCTION

struct PowFunction {
  KGEN_FN float operator()(float x, float y) const { return powf(x, y); }
  KGEN_FN double operator()(double x, double y) const { return ::pow(x, y); }
};

// To an integral value: the nearest (halves to even), or the next one down or up.
enum class Rounding { nearest, down, up };
template <Rounding Direction>
struct RoundFunction {
  KGEN_FN float operator()(float x) const {
    return Direction == Rounding::down ? floorf(x) : Direction == Rounding::up ? ceilf(x) : rintf(x);
  }
  KGEN_FN double operator()(double x) const {
    return Direction == Rounding::down ? ::floor(x) : Direction == Rounding::up ? ::ceil(x) : ::rint(x);
  }
};

// a * b + c with one rounding.
struct MultiplyAddFunction {
  KGEN_FN float operator()(float a, float b, float c) const { return fmaf(a, b, c); }
  KGEN_FN double operator()(double a, double b, double c) const { return ::fma(a, b, c); }
};

}  // namespace kgen::gpu
