// Elementary functions as short sequences of instructions that a compiler inlines and schedules with what is around
// them: range reduction, a polynomial or a quotient of two, and the exponent's bits. A call into a library costs more
// than the function: it spills every register, and keeps one vector from starting before another has ended.
//
// A loop that loads, computes and stores 16 floats (llvm-mca -mcpu=znver4): exp 17 instructions in 11.4 cycles, tanh 23
// in 14.5, erf 21 in 20.3, log 37 in 20.1.
//
// specs/OPERATORS.md states their errors. Signs of zeros, infinities, overflow and subnormal numbers are as in <cmath>;
// NaN gives NaN. tests/kernels/fit_functions.py makes the coefficients.
#pragma once

#include <concepts>
#include <limits>

#include "kgen/cpu/registers.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

// ---- what they are made of ------------------------------------------------------------------------------------------

// a * b + c, with one rounding where the processor has that.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> multiply_add_lanes(const Vec<T, W>& a, const Vec<T, W>& b, const Vec<T, W>& c) {
#if defined(KGEN_FUSED)
  Vec<T, W> result;
  result.data = fused(a.data, b.data, c.data);
  return result;
#else
  return a * b + c;
#endif
}

// The lesser and the greater; NaN where b is, and b, or NaN, where a is.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> least(const Vec<T, W>& a, const Vec<T, W>& b) {
#if defined(KGEN_REGISTERS)
  Vec<T, W> result;
  result.data = lesser(a.data, b.data);
  return result;
#else
  return select(a < b, a, b);
#endif
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> greatest(const Vec<T, W>& a, const Vec<T, W>& b) {
#if defined(KGEN_REGISTERS)
  Vec<T, W> result;
  result.data = greater(a.data, b.data);
  return result;
#else
  return select(b < a, a, b);
#endif
}

template <std::floating_point T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <std::floating_point T>
inline constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;

// c[0] + c[1] x + c[2] x^2 + ...
template <std::floating_point T, int W, std::size_t N>
KGEN_FN Vec<T, W> polynomial(const Vec<T, W>& x, const T (&c)[N]) {
  Vec<T, W> sum(c[N - 1]);
  KGEN_UNROLL
  for (int i = static_cast<int>(N) - 2; i >= 0; --i) sum = multiply_add_lanes(sum, x, Vec<T, W>(c[i]));
  return sum;
}

// The nearest integral value, halves to even, of an x far below 2^mantissa_bits.
template <std::floating_point T>
inline constexpr T rounds = T(3) * static_cast<T>(bits_of<T>{1} << (mantissa_bits<T> - 1));

// 2^n of an integral n as two factors that are normal numbers, where |n| is at most twice a normal number's exponent:
// a product with one is exact, and that with both rounds once, to a subnormal number, 0 or infinity where it must.
// Of n + rounds<T>, whose last bits are those of n.
template <std::floating_point T, int W>
struct PowerOfTwo {
  Vec<T, W> first, second;

  KGEN_FN explicit PowerOfTwo(const Vec<T, W>& biased) {
    // Without a sign, so that AVX2 can shift 64 bits, too.
    using Bits = std::make_unsigned_t<bits_of<T>>;
    constexpr Bits one = Bits(std::numeric_limits<T>::max_exponent - 1) << mantissa_bits<T>;
    const auto whole = bit_cast<Bits>(biased);
    const auto half = ((whole >> 1) << mantissa_bits<T>) + Vec<Bits, W>(one);
    first = bit_cast<T>(half);
    second = bit_cast<T>((whole << mantissa_bits<T>) - half + Vec<Bits, W>(one + one));
  }
};

// x * 2^n, of n + rounds<T>, rounded once. |n| is at most twice a normal number's exponent.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> scaled(const Vec<T, W>& x, const Vec<T, W>& biased) {
#if defined(KGEN_AVX512)
  Vec<T, W> result;
  result.data = times_power_of_two(x.data, (biased - Vec<T, W>(rounds<T>)).data);
  return result;
#else
  const PowerOfTwo<T, W> power(biased);
  return x * power.first * power.second;
#endif
}

// (1 + fraction) * 2^n, so.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> scaled_from_one(const Vec<T, W>& fraction, const Vec<T, W>& biased) {
#if defined(KGEN_AVX512)
  return scaled(Vec<T, W>(1) + fraction, biased);
#else
  const PowerOfTwo<T, W> power(biased);
  return multiply_add_lanes(fraction, power.first, power.first) * power.second;
#endif
}

template <std::floating_point T>
struct Exponential;
template <>
struct Exponential<float> {
  // Beyond these, results are 0 and infinity.
  static constexpr float least = -104, greatest = 89;
  static constexpr float log2_e = 1.44269504f;
  // log(2) = high + low, where the product of an exponent and `high` is exact.
  static constexpr float log_2_high = 0.693359375f, log_2_low = -2.12194440e-4f;
  // (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2, within 2^-26 of exp(r) - 1.
  static constexpr float terms[] = {5.000000062e-1f, 1.666654299e-1f, 4.166628200e-2f, 8.366583939e-3f,
                                    1.394645228e-3f};
};
template <>
struct Exponential<double> {
  static constexpr double least = -746, greatest = 710;
  static constexpr double log2_e = 1.4426950408889634;
  static constexpr double log_2_high = 6.93147180369123816490e-1, log_2_low = 1.90821492927058770002e-10;
  static constexpr double terms[] = {0.5,
                                     0.16666666666666677,
                                     0.0416666666666667,
                                     0.008333333333321615,
                                     0.0013888888888866843,
                                     0.00019841269886159,
                                     2.4801587360548794e-05,
                                     2.755724418149063e-06,
                                     2.755724276467693e-07,
                                     2.5109045031591137e-08,
                                     2.092444209961346e-09};
};

// exp(x) = (1 + fraction) * 2^n, biased = n + magic, which is rounds<T> and what the last bits of `biased` are to have
// besides n.
template <std::floating_point T, int W>
struct SplitExponential {
  Vec<T, W> biased, fraction;

  KGEN_FN explicit SplitExponential(const Vec<T, W>& x, T magic = rounds<T>) {
    using E = Exponential<T>;
    biased = multiply_add_lanes(x, Vec<T, W>(E::log2_e), Vec<T, W>(magic));
    const Vec<T, W> exponent = biased - Vec<T, W>(magic);
    Vec<T, W> rest = multiply_add_lanes(exponent, Vec<T, W>(-E::log_2_high), x);
    rest = multiply_add_lanes(exponent, Vec<T, W>(-E::log_2_low), rest);
    fraction = multiply_add_lanes(rest * rest, polynomial(rest, E::terms), rest);
  }
};

template <std::floating_point T, int W>
KGEN_FN Vec<T, W> within(const Vec<T, W>& x, T low, T high) {
  return greatest(Vec<T, W>(low), least(Vec<T, W>(high), x));
}

// The magnitude of a with the sign of b.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> with_sign_of(const Vec<T, W>& a, const Vec<T, W>& b) {
  constexpr bits_of<T> sign = std::numeric_limits<bits_of<T>>::min();
  const auto kept = bit_cast<bits_of<T>>(a) & Vec<bits_of<T>, W>(~sign);
  return bit_cast<T>(kept | (bit_cast<bits_of<T>>(b) & Vec<bits_of<T>, W>(sign)));
}
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> magnitude(const Vec<T, W>& x) {
  return with_sign_of(x, Vec<T, W>(0));
}

// ---- the functions --------------------------------------------------------------------------------------------------

template <std::floating_point T, int W>
KGEN_FN Vec<T, W> inlined_exp(const Vec<T, W>& x) {
  const SplitExponential<T, W> parts(within(x, Exponential<T>::least, Exponential<T>::greatest));
  return scaled_from_one(parts.fraction, parts.biased);
}

// Of an x that is at most 0, to the same bits (ties of doubles without FMA aside). 2^n times what makes all normal is
// one power of two, whose exponent is in the last bits of what rounds; what takes that back rounds to subnormals.
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> inlined_exp_nonpositive(const Vec<T, W>& x) {
  const Vec<T, W> bounded = greatest(Vec<T, W>(Exponential<T>::least), x);
#if defined(KGEN_AVX512)
  const SplitExponential<T, W> parts(bounded);
  return scaled_from_one(parts.fraction, parts.biased);
#else
  using Bits = std::make_unsigned_t<bits_of<T>>;
  constexpr int more = mantissa_bits<T> + 2;
  const SplitExponential<T, W> parts(bounded, rounds<T> + T(std::numeric_limits<T>::max_exponent - 1 + more));
  const auto power = bit_cast<T>(bit_cast<Bits>(parts.biased) << mantissa_bits<T>);
  return multiply_add_lanes(parts.fraction, power, power) * Vec<T, W>(std::numeric_limits<T>::epsilon() / 4);
#endif
}

template <int W>
KGEN_FN Vec<float, W> inlined_exp2(const Vec<float, W>& x) {
  // (2^r - 1) / r for |r| <= 1/2, within 2^-29.
  static constexpr float terms[] = {6.931472062e-1f, 2.402265134e-1f, 5.550327784e-2f,
                                    9.618003881e-3f, 1.340027239e-3f, 1.547630262e-4f};
  const Vec<float, W> bounded = within(x, -151.f, 129.f), magic(rounds<float>);
  const Vec<float, W> biased = bounded + magic, rest = bounded - (biased - magic);
  return scaled(multiply_add_lanes(rest, polynomial(rest, terms), Vec<float, W>(1)), biased);
}

template <std::floating_point T, int W>
KGEN_FN Vec<T, W> inlined_expm1(const Vec<T, W>& x) {
  const SplitExponential<T, W> parts(within(x, Exponential<T>::least, Exponential<T>::greatest));
  // Of the half: 2^n may overflow where the result does not.
  const Vec<T, W> half(T(0.5)), power = scaled(half, parts.biased);
  const Vec<T, W> result = multiply_add_lanes(parts.fraction, power, power - half);
  return select(magnitude(x) < Vec<T, W>(std::numeric_limits<T>::epsilon() / 4), x, result + result);
}

// With e = exp(2 |x|) - 1: e / (e + 2).
template <std::floating_point T, int W>
KGEN_FN Vec<T, W> inlined_tanh(const Vec<T, W>& x) {
  const Vec<T, W> one(1), twice = magnitude(x) + magnitude(x);
  const SplitExponential<T, W> parts(least(Vec<T, W>(T(sizeof(T) == 4 ? 20 : 40)), twice));
  const Vec<T, W> power = scaled(one, parts.biased);
  const Vec<T, W> e = multiply_add_lanes(parts.fraction, power, power - one);
  return with_sign_of(e / (e + Vec<T, W>(2)), x);
}

// x P(x^2) / Q(x^2), within 2^-29 of erf(x) up to the x from which it is 1.
template <int W>
KGEN_FN Vec<float, W> inlined_erf(const Vec<float, W>& x) {
  static constexpr float p[] = {1.3632021f,     2.23678157e-1f, 6.55454919e-2f, 4.63948399e-3f,
                                4.55657893e-4f, 5.58150305e-6f, -1.55337023e-8f};
  static constexpr float q[] = {1.2081064f,     6.00931823e-1f, 1.37587562e-1f,
                                1.86469294e-2f, 1.57344865e-3f, 7.55075162e-5f};
  const Vec<float, W> bounded = within(x, -3.93f, 3.93f), square = bounded * bounded;
  const Vec<float, W> quotient = polynomial(square, p) / polynomial(square, q);
  return within(bounded * quotient, -1.f, 1.f);
}

// x = (1 + fraction) * 2^exponent with sqrt(1/2) <= 1 + fraction < sqrt(2), of an x > 0.
template <int W>
struct SplitLogarithm {
  Vec<float, W> exponent, fraction;

  KGEN_FN explicit SplitLogarithm(const Vec<float, W>& x) {
    const Vec<float, W> zero(0);
    const Vec<bool, W> subnormal = x < Vec<float, W>(std::numeric_limits<float>::min());
    const auto bits = bit_cast<std::int32_t>(select(subnormal, x * Vec<float, W>(0x1p23f), x));
    constexpr std::int32_t root_of_half = 0x3f3504f3;
    const auto whole = (bits - Vec<std::int32_t, W>(root_of_half)) >> 23;
    exponent = convert<float>(whole) - select(subnormal, Vec<float, W>(23), zero);
    fraction = bit_cast<float>(bits - (whole << 23)) - Vec<float, W>(1);
  }
};

// log(x), and `more` to it, of an x > 0.
template <int W>
KGEN_FN Vec<float, W> log_of_positive(const Vec<float, W>& x, const Vec<float, W>& more) {
  // (log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, within 2^-27 of the logarithm.
  static constexpr float terms[] = {3.333333170e-1f, -2.500082120e-1f, 2.000122749e-1f, -1.662335149e-1f,
                                    1.420173800e-1f, -1.316022251e-1f, 1.276174987e-1f, -7.634610071e-2f};
  const SplitLogarithm<W> parts(x);
  const Vec<float, W>&f = parts.fraction, square = f * f;
  Vec<float, W> rest = multiply_add_lanes(parts.exponent, Vec<float, W>(Exponential<float>::log_2_low), more);
  rest = multiply_add_lanes(f * square, polynomial(f, terms), rest);
  rest = multiply_add_lanes(square, Vec<float, W>(-0.5f), rest);
  return multiply_add_lanes(parts.exponent, Vec<float, W>(Exponential<float>::log_2_high), f + rest);
}

template <int W>
KGEN_FN Vec<float, W> inlined_log(const Vec<float, W>& x) {
  const Vec<float, W> zero(0), infinity(std::numeric_limits<float>::infinity());
  const Vec<float, W> of_no_number = select(x == zero, -infinity, select(x < zero, infinity - infinity, x));
  return select((x > zero) & (x < infinity), log_of_positive(x, zero), of_no_number);
}

// log(u) + (x - (u - 1)) / u of the float u that is nearest to 1 + x.
template <int W>
KGEN_FN Vec<float, W> inlined_log1p(const Vec<float, W>& x) {
  const Vec<float, W> one(1), zero(0), infinity(std::numeric_limits<float>::infinity()), sum = one + x;
  // What the sum has lost of the greater of the two, and of the lesser.
  const Vec<float, W> lost = select(x < one, x - (sum - one), one - (sum - x));
  const Vec<float, W> result = log_of_positive(sum, lost / sum);
  const Vec<float, W> of_no_number = select(sum == zero, -infinity, select(sum < zero, infinity - infinity, x));
  const Vec<bool, W> tiny = magnitude(x) < Vec<float, W>(0x1p-26f);
  return select((sum > zero) & (x < infinity) & !tiny, result, of_no_number);
}

}  // namespace kgen::cpu
