#include "generator/emit/literals.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "generator/emit/cpp_text.hpp"

namespace kgen {
namespace {

// "{1, 2}"; where the parameter's type does not say how many, "kgen::Index<2>{1, 2}".
std::string list_literal(const std::vector<std::string>& items, const std::string& type) {
  const bool any_length = type == "kgen::Index" || type == "kgen::Numbers";
  return fmt::format("{}{{{}}}", any_length ? fmt::format("{}<{}>", type, items.size()) : "", fmt::join(items, ", "));
}

// C++ has no literal of the least number of 64 bits.
constexpr const char* least_text = "std::numeric_limits<std::int64_t>::min()";

std::string float_text(const Number& exact, const char* type, const char* suffix) {
  const double number = exact.real();
  if (std::isnan(number)) return fmt::format("std::numeric_limits<{}>::quiet_NaN()", type);
  if (std::isinf(number)) return fmt::format("{}std::numeric_limits<{}>::infinity()", number < 0 ? "-" : "", type);
  std::string text = *suffix ? fmt::format("{}", exact.as<float>()) : fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + suffix;
}

}  // namespace

std::string literal_text(const Number& number, DType dtype) {
  const DType compute = compute_dtype(dtype);
  if (compute == DType::f32) return float_text(number, "float", "f");
  if (compute == DType::f64) return float_text(number, "double", "");
  if (compute == DType::boolean) return number == 0 ? "false" : "true";
  if (compute == DType::u64) return fmt::format("{}u", number);
  if (number == integer_range(DType::i64).low) return least_text;
  return fmt::format("{}{{{}}}", info(compute).cpp, number);
}

std::string literal_text(const AttributeValue& value, const std::string& type) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  Number number;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) number = *integer;
  if (const auto* given = std::get_if<Number>(&value)) number = *given;
  if (const auto* dim = std::get_if<Dim>(&value)) return cpp_text(*dim);
  std::vector<std::string> items;
  if (const auto* list = std::get_if<std::vector<Dim>>(&value)) {
    for (const Dim& each : *list) items.push_back(cpp_text(each));
    return list_literal(items, type);
  }
  if (const auto* list = std::get_if<std::vector<Number>>(&value)) {
    for (const Number& each : *list) items.push_back(float_text(each, "double", ""));
    return list_literal(items, type);
  }
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("{}::{}", type, *text);
  if (type == "float") return float_text(number, "float", "f");
  if (type == "double") return float_text(number, "double", "");
  return number == integer_range(DType::i64).low ? least_text : to_text(number);
}

}  // namespace kgen
