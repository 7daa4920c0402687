// Elementary functions on whole vector registers: instructions where there is one, else kgen/cpu/vector_math.hpp, else
// SLEEF, else the standard library lane by lane. A vector narrower than a register is padded to one, so that a lane's
// result does not depend on where in a row it stands. With KGEN_MATCH_UNFUSED, which the build of a graph with
// `numerics: match_unfused` defines, what is within 1 ulp stands before what is inlined.
#pragma once

#include <cmath>

#include "kgen/cpu/registers.hpp"
#include "kgen/cpu/vector_math.hpp"
#include "kgen/vec.hpp"

// SLEEF's registers have 16 bytes on Arm; there a build may be without it, and the standard library's functions serve.
#if defined(KGEN_REGISTERS) && (defined(__x86_64__) || (!defined(KGEN_SVE) && __has_include(<sleef.h>)))
#define KGEN_SLEEF 1
#include <sleef.h>
#endif

namespace kgen::cpu {

// A function that has a faster form for one lane, to the same bits.
template <class Function, class T>
concept OfOne = requires(T x) {
  Function::of_one(x);
};

// function(registers...) for each register of the vectors, or of vectors as wide as one where it takes those; for each
// lane where it takes scalars.
template <class Function, class T, int W, class... Rest>
KGEN_FN Vec<T, W> on_registers(Function function, const Vec<T, W>& v, const Rest&... rest) {
  constexpr int lanes = lanes_of<T>;
  constexpr bool takes_vectors = std::is_invocable_v<Function, Vec<T, lanes>, Vec<typename Rest::lane_type, lanes>...>;
  Vec<T, W> result;
  if constexpr (!takes_vectors && std::is_invocable_v<Function, T, typename Rest::lane_type...>) {
    T values[W];
    for (int i = 0; i < W; ++i) values[i] = function(v[i], rest[i]...);
    result = load_lanes<W>(values);
  } else if constexpr (W > lanes) {
    result = concatenate(on_registers(function, low_half(v), low_half(rest)...),
                         on_registers(function, high_half(v), high_half(rest)...));
  } else if constexpr (W == 1 && OfOne<Function, T>) {
    result.data = Function::of_one(v.data);
  } else if constexpr (W == 1 && lanes > 1) {
    result.data = on_registers(function, Vec<T, lanes>(v.data), Vec<typename Rest::lane_type, lanes>(rest.data)...)[0];
  } else if constexpr (W < lanes) {
    result = low_half(on_registers(function, concatenate(v, v), concatenate(rest, rest)...));
  } else if constexpr (takes_vectors) {
    result = function(v, rest...);
  } else {
    result.data = function(v.data, rest.data...);
  }
  return result;
}

// Function objects with one overload for floats and one for doubles: registers where SLEEF knows them, else scalars.
#if defined(KGEN_SLEEF)
#if defined(KGEN_AVX512)
#define KGEN_SLEEF_FLOATS(name) Sleef_##name##f16_u10
#define KGEN_SLEEF_DOUBLES(name) Sleef_##name##d8_u10
#elif defined(__AVX2__)
#define KGEN_SLEEF_FLOATS(name) Sleef_##name##f8_u10
#define KGEN_SLEEF_DOUBLES(name) Sleef_##name##d4_u10
#else
#define KGEN_SLEEF_FLOATS(name) Sleef_##name##f4_u10
#define KGEN_SLEEF_DOUBLES(name) Sleef_##name##d2_u10
#endif
#define KGEN_FUNCTION(Name, name)                                                       \
  struct Name {                                                                         \
    KGEN_FN Floats operator()(Floats x) const { return KGEN_SLEEF_FLOATS(name)(x); }    \
    KGEN_FN Doubles operator()(Doubles x) const { return KGEN_SLEEF_DOUBLES(name)(x); } \
  };
#else
#define KGEN_FUNCTION(Name, name)                              \
  struct Name {                                                \
    float operator()(float x) const { return std::name(x); }   \
    double operator()(double x) const { return std::name(x); } \
  };
#endif
KGEN_FUNCTION(LibraryExp, exp)
using LibraryExpNonpositive = LibraryExp;
KGEN_FUNCTION(LibraryLog, log)
KGEN_FUNCTION(SinFunction, sin)
KGEN_FUNCTION(CosFunction, cos)
KGEN_FUNCTION(LibraryTanh, tanh)
KGEN_FUNCTION(LibraryErf, erf)
KGEN_FUNCTION(TanFunction, tan)
KGEN_FUNCTION(AsinFunction, asin)
KGEN_FUNCTION(AcosFunction, acos)
KGEN_FUNCTION(AtanFunction, atan)
KGEN_FUNCTION(SinhFunction, sinh)
KGEN_FUNCTION(CoshFunction, cosh)
KGEN_FUNCTION(AsinhFunction, asinh)
KGEN_FUNCTION(AcoshFunction, acosh)
KGEN_FUNCTION(AtanhFunction, atanh)
KGEN_FUNCTION(LibraryExp2, exp2)
KGEN_FUNCTION(LibraryExpm1, expm1)
KGEN_FUNCTION(Log2Function, log2)
KGEN_FUNCTION(Log10Function, log10)
KGEN_FUNCTION(LibraryLog1p, log1p)
#undef KGEN_FUNCTION

// What is inlined, of floats; of doubles too, or the Library's.
template <class T>
concept OnlyFloat = std::is_same_v<T, float>;
#define KGEN_INLINED(Name, name, Covered)                    \
  struct Inlined##Name : Library##Name {                     \
    using Library##Name::operator();                         \
    template <Covered T, int W>                              \
    KGEN_FN Vec<T, W> operator()(const Vec<T, W>& x) const { \
      return inlined_##name(x);                              \
    }                                                        \
  };
KGEN_INLINED(Exp, exp, std::floating_point)
KGEN_INLINED(ExpNonpositive, exp_nonpositive, std::floating_point)
KGEN_INLINED(Expm1, expm1, std::floating_point)
KGEN_INLINED(Tanh, tanh, std::floating_point)
KGEN_INLINED(Log, log, OnlyFloat)
KGEN_INLINED(Erf, erf, OnlyFloat)
KGEN_INLINED(Exp2, exp2, OnlyFloat)
KGEN_INLINED(Log1p, log1p, OnlyFloat)
#undef KGEN_INLINED

#if defined(KGEN_MATCH_UNFUSED)
inline constexpr bool inlines_functions = false;
#else
inline constexpr bool inlines_functions = true;
#endif
using ExpFunction = std::conditional_t<inlines_functions, InlinedExp, LibraryExp>;
using ExpNonpositiveFunction = std::conditional_t<inlines_functions, InlinedExpNonpositive, LibraryExp>;
using Expm1Function = std::conditional_t<inlines_functions, InlinedExpm1, LibraryExpm1>;
using TanhFunction = std::conditional_t<inlines_functions, InlinedTanh, LibraryTanh>;
using LogFunction = std::conditional_t<inlines_functions, InlinedLog, LibraryLog>;
using ErfFunction = std::conditional_t<inlines_functions, InlinedErf, LibraryErf>;
using Exp2Function = std::conditional_t<inlines_functions, InlinedExp2, LibraryExp2>;
using Log1pFunction = std::conditional_t<inlines_functions, InlinedLog1p, LibraryLog1p>;

struct PowFunction {
#if defined(KGEN_SLEEF)
  KGEN_FN Floats operator()(Floats x, Floats y) const { return KGEN_SLEEF_FLOATS(pow)(x, y); }
  KGEN_FN Doubles operator()(Doubles x, Doubles y) const { return KGEN_SLEEF_DOUBLES(pow)(x, y); }
#else
  float operator()(float x, float y) const { return std::pow(x, y); }
  double operator()(double x, double y) const { return std::pow(x, y); }
#endif
};
struct Atan2Function {
#if defined(KGEN_SLEEF)
  KGEN_FN Floats operator()(Floats y, Floats x) const { return KGEN_SLEEF_FLOATS(atan2)(y, x); }
  KGEN_FN Doubles operator()(Doubles y, Doubles x) const { return KGEN_SLEEF_DOUBLES(atan2)(y, x); }
#else
  float operator()(float y, float x) const { return std::atan2(y, x); }
  double operator()(double y, double x) const { return std::atan2(y, x); }
#endif
};
#undef KGEN_SLEEF_FLOATS
#undef KGEN_SLEEF_DOUBLES

// Exact where x / y does not overflow, else NaN.
struct FmodFunction {
#if defined(KGEN_AVX512)
  KGEN_FN Floats operator()(Floats x, Floats y) const { return Sleef_fmodf16(x, y); }
  KGEN_FN Doubles operator()(Doubles x, Doubles y) const { return Sleef_fmodd8(x, y); }
#elif defined(KGEN_SLEEF) && defined(__AVX2__)
  KGEN_FN Floats operator()(Floats x, Floats y) const { return Sleef_fmodf8(x, y); }
  KGEN_FN Doubles operator()(Doubles x, Doubles y) const { return Sleef_fmodd4(x, y); }
#elif defined(KGEN_SLEEF)
  KGEN_FN Floats operator()(Floats x, Floats y) const { return Sleef_fmodf4(x, y); }
  KGEN_FN Doubles operator()(Doubles x, Doubles y) const { return Sleef_fmodd2(x, y); }
#else
  float operator()(float x, float y) const { return std::fmod(x, y); }
  double operator()(double x, double y) const { return std::fmod(x, y); }
#endif
};

struct SqrtFunction {
#if defined(KGEN_REGISTERS)
  KGEN_FN Floats operator()(Floats x) const { return square_root(x); }
  KGEN_FN Doubles operator()(Doubles x) const { return square_root(x); }
  template <std::floating_point T>
  KGEN_FN static T of_one(T x) {
    return square_root(x);
  }
#else
  float operator()(float x) const { return std::sqrt(x); }
  double operator()(double x) const { return std::sqrt(x); }
#endif
};

template <Rounding Direction>
struct RoundFunction {
#if defined(KGEN_ROUNDS)
  KGEN_FN Floats operator()(Floats x) const { return rounded<Direction>(x); }
  KGEN_FN Doubles operator()(Doubles x) const { return rounded<Direction>(x); }
#else
  template <std::floating_point T>
  T operator()(T x) const {
    return Direction == Rounding::down      ? std::floor(x)
           : Direction == Rounding::up      ? std::ceil(x)
           : Direction == Rounding::to_zero ? std::trunc(x)
                                            : std::nearbyint(x);
  }
#endif
};

#if defined(KGEN_REGISTERS)
// The greater and the lesser: of zeros a, NaN where either is NaN. An instruction of x86 gives the second operand then,
// so that b alone is looked at. Compared and chosen twice, maxima of columns took 1.1 to 2 times as long on a Zen 3. One
// of Arm gives NaN, and of zeros that with the greater sign, or the lesser: so do fewer lanes than a register's there.
#if defined(KGEN_KEEPS_NAN)
inline constexpr bool keeps_nan = true;
#else
inline constexpr bool keeps_nan = false;
#endif
struct MaximumFunction {
  template <std::floating_point T>
  KGEN_FN Vec<T, lanes_of<T>> operator()(const Vec<T, lanes_of<T>>& a, const Vec<T, lanes_of<T>>& b) const {
    Vec<T, lanes_of<T>> most;
    most.data = greater(b.data, a.data);
    return keeps_nan ? most : select(b == b, most, b);
  }
};
struct MinimumFunction {
  template <std::floating_point T>
  KGEN_FN Vec<T, lanes_of<T>> operator()(const Vec<T, lanes_of<T>>& a, const Vec<T, lanes_of<T>>& b) const {
    Vec<T, lanes_of<T>> least;
    least.data = lesser(b.data, a.data);
    return keeps_nan ? least : select(b == b, least, b);
  }
};
#endif

#if defined(KGEN_FUSED)
// a * b + c with one rounding.
struct MultiplyAddFunction {
  KGEN_FN Floats operator()(Floats a, Floats b, Floats c) const { return fused(a, b, c); }
  KGEN_FN Doubles operator()(Doubles a, Doubles b, Doubles c) const { return fused(a, b, c); }
};
#endif

}  // namespace kgen::cpu
