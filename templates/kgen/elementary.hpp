// Elementary functions that fewer stubs need than those of kgen/math.hpp. Within 1 ulp unless said otherwise, and 4 with
// a GPU's library. NaN gives NaN; infinities, zeros and subnormal numbers as in <cmath>.
#pragma once

#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen {

template <std::floating_point T, int W>
KGEN_FN Vec<T, W> tan(const Vec<T, W>& x) {
  return target::on_registers(target::TanFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> asin(const Vec<T, W>& x) {
  return target::on_registers(target::AsinFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> acos(const Vec<T, W>& x) {
  return target::on_registers(target::AcosFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> atan(const Vec<T, W>& x) {
  return target::on_registers(target::AtanFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> atanh(const Vec<T, W>& x) {
  return target::on_registers(target::AtanhFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> exp2(const Vec<T, W>& x) {
  return target::on_registers(target::Exp2Function{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> expm1(const Vec<T, W>& x) {
  return target::on_registers(target::Expm1Function{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> log2(const Vec<T, W>& x) {
  return target::on_registers(target::Log2Function{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> log10(const Vec<T, W>& x) {
  return target::on_registers(target::Log10Function{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> atan2(const Vec<T, W>& y, const Vec<T, W>& x) {
  return target::on_registers(target::Atan2Function{}, y, x);
}
// The magnitude of a with the sign of b.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> copysign(const Vec<T, W>& a, const Vec<T, W>& b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  return bit_cast<T>((bit_cast<Bits>(a) & Vec<Bits, W>(~sign)) | (bit_cast<Bits>(b) & Vec<Bits, W>(sign)));
}

#if !defined(KGEN_GPU)
// Where SLEEF's functions overflow before their results do.
namespace detail {

// exp(x) / 2, within 3 ulp, of an x whose exponential may be too large.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> half_exponential(const Vec<T, W>& x) {
  const Vec<T, W> root = exp(x * 0.5);
  return root * 0.5 * root;
}
template <class T>
inline constexpr T great_exponent = sizeof(T) == 4 ? 88 : 709;

// log(2 x), which is what asinh and acosh are of a great x, beside which 1 vanishes.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> log_of_twice(const Vec<T, W>& x) {
  return log(x) + 0.69314718055994530942;
}
inline constexpr double great_argument = 1e17;

}  // namespace detail
#endif

// Within 3 ulp where e^|x| overflows, as is cosh.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> sinh(const Vec<T, W>& x) {
  const Vec<T, W> result = target::on_registers(target::SinhFunction{}, x);
#if defined(KGEN_GPU)
  return result;
#else
  const Vec<T, W> magnitude = abs(x);
  const Vec<T, W> great = copysign(detail::half_exponential(magnitude), x);
  return select(magnitude > Vec<T, W>(detail::great_exponent<T>), great, result);
#endif
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> cosh(const Vec<T, W>& x) {
  const Vec<T, W> result = target::on_registers(target::CoshFunction{}, x);
#if defined(KGEN_GPU)
  return result;
#else
  const Vec<T, W> magnitude = abs(x);
  return select(magnitude > Vec<T, W>(detail::great_exponent<T>), detail::half_exponential(magnitude), result);
#endif
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> asinh(const Vec<T, W>& x) {
  const Vec<T, W> result = target::on_registers(target::AsinhFunction{}, x);
#if defined(KGEN_GPU)
  return result;
#else
  const Vec<T, W> magnitude = abs(x);
  const Vec<T, W> great = copysign(detail::log_of_twice(magnitude), x);
  return select(magnitude > Vec<T, W>(detail::great_argument), great, result);
#endif
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> acosh(const Vec<T, W>& x) {
  const Vec<T, W> result = target::on_registers(target::AcoshFunction{}, x);
#if defined(KGEN_GPU)
  return result;
#else
  return select(x > Vec<T, W>(detail::great_argument), detail::log_of_twice(x), result);
#endif
}

template <std::floating_point T, int W>
KGEN_FN Vec<T, W> log1p(const Vec<T, W>& x) {
  const Vec<T, W> result = target::on_registers(target::Log1pFunction{}, x);
#if defined(KGEN_GPU)
  return result;
#else
  if constexpr (target::inlines_functions && std::is_same_v<T, float>) return result;
  return select(x > Vec<T, W>(detail::great_argument), log(x), result);
#endif
}

// The remainder of x / y, with the sign of x: exact. x where y is infinite and x is not; NaN for y = 0.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> fmod(const Vec<T, W>& x, const Vec<T, W>& y) {
  const Vec<T, W> result = target::on_registers(target::FmodFunction{}, x, y);
#if defined(KGEN_GPU)
  return result;
#else
  // SLEEF gives NaN also where x / y overflows.
  const Vec<T, W> zero(0);
  if (!any_of((result != result) & (x - x == zero) & (y == y) & (y != zero))) return result;
  return by_lane(x, y, [](T a, T b) KGEN_LAMBDA { return std::fmod(a, b); });
#endif
}

}  // namespace kgen
