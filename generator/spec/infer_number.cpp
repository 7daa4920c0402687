#include "generator/spec/infer_number.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace kgen {
namespace {

// The numbers that round to a finite element: beyond the greatest by less than half a step.
struct FloatRange {
  double greatest;   // finite element
  double step;       // between the greatest and the one below it
  bool infinities;   // whether the dtype has them
  bool nan = true;
  double least = -greatest;
};

FloatRange float_range(DType dtype) {
  switch (dtype) {
    case DType::f32: return {0x1.fffffep127, 0x1p104, true};
    case DType::f16: return {65504, 32, true};
    case DType::bf16: return {0x1.fep127, 0x1p120, true};
    case DType::f8e4m3: return {448, 32, false};
    case DType::f8e5m2: return {57344, 8192, true};
    case DType::f8e4m3fnuz:
      return {240, 16, false};
    case DType::f8e5m2fnuz:
      return {57344, 8192, false};
    case DType::f8e8m0:
      return {.greatest = 0x1p127, .step = 0x1p127, .infinities = false, .least = 0x1p-127};
    case DType::f4e2m1:
      return {.greatest = 6, .step = 2, .infinities = false, .nan = false};
    default: return {std::numeric_limits<double>::max(), 0, true};
  }
}

bool float_holds(double number, DType dtype) {
  const FloatRange range = float_range(dtype);
  if (std::isnan(number)) return range.nan;
  if (std::isinf(number)) return range.infinities;
  if (range.least > 0 && number < range.least) return false;
  return std::abs(number) <= range.greatest || std::abs(number) < range.greatest + range.step / 2;
}

}  // namespace

std::optional<std::string> number_problem(const Number& number, DType dtype) {
  const std::string_view name = info(dtype).name;
  if (info(dtype).floating) {
    if (float_holds(number.real(), dtype)) return std::nullopt;
    const FloatRange range = float_range(dtype);
    return fmt::format("{} is out of the range of {}, which is {} to {}", number, name, range.least, range.greatest);
  }
  if (integer_holds(dtype, number)) return std::nullopt;
  if (std::isfinite(number.real()) && number.real() != std::floor(number.real())) {
    return fmt::format("{} is not a whole number, as {} needs", number, name);
  }
  const IntegerRange range = integer_range(dtype);
  return fmt::format("{} is out of the range of {}, which is {} to {}", number, name, range.low, range.high);
}

}  // namespace kgen
