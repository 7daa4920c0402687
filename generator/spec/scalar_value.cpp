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
    case DType::boolean:
      return {1, 0, 0, false};
    default:
      break;
  }
  const bool is_signed = info(dtype).name.starts_with('i');
  return {info(dtype).bytes * 8 - (is_signed ? 1 : 0), 0, 0, is_signed};
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
  if (std::isnan(number)) return std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::f64 || number == 0) return number;
  const auto in_f32 = static_cast<double>(static_cast<float>(number));
  if (dtype == DType::f32 || in_f32 == 0) return in_f32;
  const double rounded = std::isinf(in_f32) ? in_f32 : round_fraction(in_f32, format_of(dtype));
  if (!number_problem(rounded, dtype)) return rounded;
  if (info(dtype).bytes == 1) return std::nullopt;
  return std::copysign(std::numeric_limits<double>::infinity(), rounded);
}

std::optional<double> cast_to_dtype(double number, DType dtype) {
  if (dtype == DType::boolean) return number != 0 ? 1 : 0;
  return round_to_dtype(info(dtype).floating ? number : std::trunc(number), dtype);
}

bool holds_every_value(DType to, DType from) {
  if (to == from || from == DType::boolean) return true;
  if (to == DType::boolean) return false;
  const Format wide = format_of(to);
  const Format narrow = format_of(from);
  if (info(from).floating && !info(to).floating) return false;
  if (!info(from).floating) {
    // Integers of n bits need n bits of precision: the fraction's and the leading one.
    const bool enough_bits = wide.fraction + (info(to).floating ? 1 : 0) >= narrow.fraction;
    const bool enough_range = !info(to).floating || wide.greatest_exponent >= narrow.fraction;
    return enough_bits && enough_range && (wide.is_signed || !narrow.is_signed);
  }
  if (to == DType::f8e4m3 || to == DType::f8e5m2) return false;
  return wide.fraction >= narrow.fraction && wide.least_exponent <= narrow.least_exponent &&
         wide.greatest_exponent >= narrow.greatest_exponent;
}

}  // namespace kgen
