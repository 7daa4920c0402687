// Elementary functions on vectors of floats and doubles, within 1 ulp unless their operator or what is below says
// otherwise. NaN gives NaN; infinities, zeros and subnormal numbers as in <cmath>.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/math.hpp"
#else
#include "kgen/cpu/math.hpp"
#endif

namespace kgen {

template <std::floating_point T, int W>
KGEN_FN Vec<T, W> exp(const Vec<T, W>& x) {
  return target::on_registers(target::ExpFunction{}, x);
}
// exp(x) of x <= 0.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> exp_nonpositive(const Vec<T, W>& x) {
  return target::on_registers(target::ExpNonpositiveFunction{}, x);
}
// exp(x) of x <= 0, within 2^-22 of 1 and not of the result: for sums in which exp(0) is a term.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> exp_for_sum(const Vec<T, W>& x) {
#if defined(KGEN_GPU)
  if constexpr (std::is_same_v<T, float>) {
    return lanewise(x, x, [](float lane, float) KGEN_LAMBDA { return gpu::power_of_two(lane * 1.44269504f); });
  }
#endif
  return exp_nonpositive(x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> log(const Vec<T, W>& x) {
  return target::on_registers(target::LogFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> sin(const Vec<T, W>& x) {
  return target::on_registers(target::SinFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> cos(const Vec<T, W>& x) {
  return target::on_registers(target::CosFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> tanh(const Vec<T, W>& x) {
  return target::on_registers(target::TanhFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> erf(const Vec<T, W>& x) {
  return target::on_registers(target::ErfFunction{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> pow(const Vec<T, W>& x, const Vec<T, W>& y) {
  return target::on_registers(target::PowFunction{}, x, y);
}
// Correctly rounded, as are floor, ceil, trunc and round.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> sqrt(const Vec<T, W>& x) {
  return target::on_registers(target::SqrtFunction{}, x);
}
// 1 / sqrt(x), within 2 ulp.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> reciprocal_sqrt(const Vec<T, W>& x) {
#if defined(KGEN_GPU)
  return lanewise(x, x, [](T lane, T) KGEN_LAMBDA { return gpu::reciprocal_sqrt(lane); });
#else
  return Vec<T, W>(1) / sqrt(x);
#endif
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> floor(const Vec<T, W>& x) {
  return target::on_registers(target::RoundFunction<target::Rounding::down>{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> ceil(const Vec<T, W>& x) {
  return target::on_registers(target::RoundFunction<target::Rounding::up>{}, x);
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> trunc(const Vec<T, W>& x) {
  return target::on_registers(target::RoundFunction<target::Rounding::to_zero>{}, x);
}
// Halves to even.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> round(const Vec<T, W>& x) {
  return target::on_registers(target::RoundFunction<target::Rounding::nearest>{}, x);
}
// a * b + c with one rounding where the processor has it, else with two.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> multiply_add(const Vec<T, W>& a, const Vec<T, W>& b, const Vec<T, W>& c) {
#if defined(KGEN_FUSED) || defined(KGEN_GPU)
  return target::on_registers(target::MultiplyAddFunction{}, a, b, c);
#else
  return a * b + c;
#endif
}
// Integers wrap.
template <std::integral T, int W>
KGEN_FN Vec<T, W> multiply_add(const Vec<T, W>& a, const Vec<T, W>& b, const Vec<T, W>& c) {
  return a * b + c;
}

// The greater; NaN where either is NaN.
template <class T, int W>
KGEN_FN Vec<T, W> maximum(const Vec<T, W>& a, const Vec<T, W>& b) {
#if defined(KGEN_GPU)
  if constexpr (std::is_same_v<T, float>) {
    return lanewise(a, b, [](float x, float y) KGEN_LAMBDA { return gpu::greater(x, y); });
  }
#endif
#if defined(KGEN_REGISTERS) && !defined(KGEN_GPU)
  if constexpr (std::is_floating_point_v<T> && (target::keeps_nan || W >= lanes_of<T>)) {
    return target::on_registers(target::MaximumFunction{}, a, b);
  }
#endif
  const Vec<T, W> greater = select(a < b, b, a);  // a where either is NaN
  if constexpr (std::is_floating_point_v<T>) {
    return select(b == b, greater, b);
  } else {
    return greater;
  }
}
// The lesser; NaN where either is NaN.
template <class T, int W>
KGEN_FN Vec<T, W> minimum(const Vec<T, W>& a, const Vec<T, W>& b) {
#if defined(KGEN_GPU)
  if constexpr (std::is_same_v<T, float>) {
    return lanewise(a, b, [](float x, float y) KGEN_LAMBDA { return gpu::lesser(x, y); });
  }
#endif
#if defined(KGEN_REGISTERS) && !defined(KGEN_GPU)
  if constexpr (std::is_floating_point_v<T> && (target::keeps_nan || W >= lanes_of<T>)) {
    return target::on_registers(target::MinimumFunction{}, a, b);
  }
#endif
  const Vec<T, W> lesser = select(b < a, b, a);
  if constexpr (std::is_floating_point_v<T>) {
    return select(b == b, lesser, b);
  } else {
    return lesser;
  }
}
// The magnitude. The least integer stays as it is.
template <class T, int W>
KGEN_FN Vec<T, W> abs(const Vec<T, W>& x) {
  if constexpr (std::is_same_v<T, float>) {
    return bit_cast<T>(bit_cast<std::uint32_t>(x) & 0x7fffffffu);
  } else if constexpr (std::is_same_v<T, double>) {
    return bit_cast<T>(bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu);
  } else if constexpr (std::is_signed_v<T>) {
    return select(x < Vec<T, W>(0), -x, x);
  } else {
    return x;
  }
}

// 1 / (1 + exp(-x)), within 4 ulp; below -88 (f64: -709) it is 0.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> sigmoid(const Vec<T, W>& x) {
  const Vec<T, W> denominator = Vec<T, W>(1) + exp(-x);
#if defined(KGEN_GPU)
  if constexpr (std::is_same_v<T, float>) {
    return lanewise(denominator, denominator, [](float d, float) KGEN_LAMBDA { return gpu::reciprocal_of_normal(d); });
  }
#endif
  return Vec<T, W>(1) / denominator;
}

// The standard normal distribution function, (1 + erf(x / sqrt(2))) / 2, within 3e-7 (f64: 3e-16) of the true value.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> normal_distribution(const Vec<T, W>& x) {
#if defined(KGEN_GPU)
  return target::on_registers(target::NormalDistributionFunction{}, x);
#else
  return (erf(x * 0.70710678118654752440) + 1.0) * 0.5;
#endif
}

}  // namespace kgen
