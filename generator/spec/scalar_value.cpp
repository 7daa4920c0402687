#include "generator/spec/scalar_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/spec/infer_number.hpp"

namespace kgen {
namespace {

// Floats: the fraction's bits, and the binary exponents of the least normal and the greatest element.
// Integers: `fraction` is the number of bits without the sign.
struct Format {
  int fraction;
  int least_exponent;
  int greatest_exponent;
  bool is_signed;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {52, -1022, 1023, true};
    case DType::f32:
      return {23, -126, 127, true};
    case DType::f16:
      return {10, -14, 15, true};
    case DType::bf16:
      return {7, -126, 127, true};
    case DType::f8e4m3:
      return {3, -6, 8, true};
    case DType::f8e5m2:
      return {2, -14, 15, true};
    case DType::f8e4m3fnuz:
      return {3, -7, 7, true};
    case DType::f8e5m2fnuz:
      return {2, -15, 15, true};
    case DType::f8e8m0:
      return {0, -127, 127, false};
    case DType::f4e2m1:
      return {1, 0, 2, true};
    case DType::boolean:
      return {1, 0, 0, false};
    default:
      break;
  }
  const bool is_signed = info(dtype).name.starts_with('i');
  return {info(dtype).bits - (is_signed ? 1 : 0), 0, 0, is_signed};
}

// To a multiple of the distance between the neighbours of `number`, halves to even.
double round_fraction(double number, const Format& format) {
  const int exponent = std::max(std::ilogb(number), format.least_exponent);
  const double step = std::ldexp(1.0, exponent - format.fraction);
  return std::nearbyint(number / step) * step;
}

}  // namespace

std::optional<double> round_to_dtype(double number, DType dtype) {
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  if (!info(dtype).floating) {
    if (!(std::abs(number) <= largest_exact) || number_problem(number, dtype)) return std::nullopt;
    return number;
  }
  const bool one_zero = dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2fnuz;
  const auto held = [&](double element) -> std::optional<double> {
    if (number_problem(element, dtype)) return std::nullopt;
    return one_zero && element == 0 ? 0 : element;
  };
  if (std::isnan(number)) return held(std::numeric_limits<double>::quiet_NaN());
  if (dtype == DType::f64 || number == 0) return held(number);
  const auto in_f32 = static_cast<double>(static_cast<float>(number));
  if (dtype == DType::f32 || in_f32 == 0) return held(in_f32);
  const double rounded = std::isinf(in_f32) ? in_f32 : round_fraction(in_f32, format_of(dtype));
  if (const auto element = held(rounded)) return element;
  if (info(dtype).bits <= 8) return std::nullopt;
  return std::copysign(std::numeric_limits<double>::infinity(), rounded);
}

std::optional<double> cast_to_dtype(double number, DType dtype) {
  if (dtype == DType::boolean) return number != 0 ? 1 : 0;
  return round_to_dtype(info(dtype).floating ? number : std::trunc(number), dtype);
}

bool holds_every_value(DType to, DType from) {
  if (to == from) return true;
  if (from == DType::boolean) return to != DType::f8e8m0;  // which has no 0
  if (to == DType::boolean || (info(to).floating && info(to).bits <= 8)) return false;
  const Format wide = format_of(to);
  const Format narrow = format_of(from);
  if (info(from).floating && !info(to).floating) return false;
  if (!info(from).floating) {
    // Integers of n bits need n bits of precision: the fraction's and the leading one.
    const bool enough_bits = wide.fraction + (info(to).floating ? 1 : 0) >= narrow.fraction;
    const bool enough_range = !info(to).floating || wide.greatest_exponent >= narrow.fraction;
    return enough_bits && enough_range && (wide.is_signed || !narrow.is_signed);
  }
  const int least_wide = wide.least_exponent - wide.fraction, least_narrow = narrow.least_exponent - narrow.fraction;
  return wide.fraction >= narrow.fraction && least_wide <= least_narrow &&
         wide.greatest_exponent >= narrow.greatest_exponent;
}

}  // namespace kgen
