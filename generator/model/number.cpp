#include "generator/model/number.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace kgen {

Number::Number(double value) : value_(value) {
  if (value != std::floor(value) || (value == 0 && std::signbit(value))) return;
  if (value >= -0x1p63 && value < 0x1p63) {
    value_ = static_cast<std::int64_t>(value);
  } else if (value >= 0 && value < 0x1p64) {
    value_ = static_cast<std::uint64_t>(value);
  }
}

void Number::set(std::uint64_t value) {
  if (std::in_range<std::int64_t>(value)) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}

std::optional<std::int64_t> Number::as_signed() const {
  const auto* whole = std::get_if<std::int64_t>(&value_);
  return whole ? std::optional(*whole) : std::nullopt;
}

std::optional<std::uint64_t> Number::as_unsigned() const {
  if (const auto* whole = std::get_if<std::uint64_t>(&value_)) return *whole;
  const auto* whole = std::get_if<std::int64_t>(&value_);
  return whole && *whole >= 0 ? std::optional(static_cast<std::uint64_t>(*whole)) : std::nullopt;
}

Number Number::operator-() const {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const auto* whole = std::get_if<std::int64_t>(&value_);
  if (whole && *whole != 0 && *whole != least) return -*whole;
  if (as_unsigned() == std::uint64_t{1} << 63) return least;
  return -real();
}

bool operator==(const Number& a, const Number& b) {
  if (a.is_whole() != b.is_whole()) return a.real() == 0 && b.real() == 0;
  return a.value_ == b.value_;
}

bool same_bits(const Number& a, const Number& b) {
  if (a.value_.index() != b.value_.index()) return false;
  return a.is_whole() ? a.value_ == b.value_
                      : std::bit_cast<std::uint64_t>(a.real()) == std::bit_cast<std::uint64_t>(b.real());
}

std::string to_text(const Number& number) {
  if (const auto whole = number.as_signed()) return fmt::format("{}", *whole);
  if (const auto whole = number.as_unsigned()) return fmt::format("{}", *whole);
  return fmt::format("{}", number.real());
}

IntegerRange integer_range(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  const int bits = info(dtype).bits;
  const std::uint64_t every_bit = ~std::uint64_t{0} >> (64 - bits);
  if (info(dtype).name[0] == 'u') return {0, every_bit};
  const auto high = static_cast<std::int64_t>(every_bit >> 1);
  return {-high - 1, high};
}

bool integer_holds(DType dtype, const Number& number) {
  const IntegerRange range = integer_range(dtype);
  if (const auto value = number.as_signed()) {
    const auto high = range.high.as_signed();
    return *value >= *range.low.as_signed() && (!high || *value <= *high);
  }
  const auto value = number.as_unsigned();
  return value && *value <= *range.high.as_unsigned();
}

}  // namespace kgen
