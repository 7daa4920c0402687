// A number as a graph or a specification states it, and as constants are folded to: a whole number of 64 bits, with or
// without a sign, is exact; any other is a double.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "generator/model/dtype.hpp"

namespace kgen {

class Number {
 public:
  Number() = default;
  template <std::integral T>
  Number(T value) {
    if constexpr (std::signed_integral<T>) {
      value_ = std::int64_t{value};
    } else {
      set(std::uint64_t{value});
    }
  }
  Number(double value);

  bool is_whole() const { return !std::holds_alternative<double>(value_); }
  // The nearest T; whole numbers must be within its range.
  template <class T>
  T as() const {
    return std::visit([](auto each) { return static_cast<T>(each); }, value_);
  }
  double real() const { return as<double>(); }
  // Nothing where it is no whole number of that type.
  std::optional<std::int64_t> as_signed() const;
  std::optional<std::uint64_t> as_unsigned() const;
  Number operator-() const;

  // As numbers: NaN differs from itself, and 0 equals -0.
  friend bool operator==(const Number& a, const Number& b);
  // As what they are: NaN equals itself, and 0 differs from -0.
  friend bool same_bits(const Number& a, const Number& b);

 private:
  void set(std::uint64_t value);

  // Each number has one form: a double is no whole number of 64 bits, but for -0, and a std::uint64_t no std::int64_t.
  std::variant<std::int64_t, std::uint64_t, double> value_ = std::int64_t{0};
};

// "9007199254740993", "0.125", "inf".
std::string to_text(const Number& number);

// The least and the greatest element of an integer dtype or bool.
struct IntegerRange {
  Number low, high;
};
IntegerRange integer_range(DType dtype);
// Whether `number` is a whole number in that range.
bool integer_holds(DType dtype, const Number& number);

}  // namespace kgen

template <>
struct fmt::formatter<kgen::Number> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const kgen::Number& number, Context& context) const {
    return fmt::formatter<std::string_view>::format(kgen::to_text(number), context);
  }
};
