#include "generator/import/yaml_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "generator/base/languages.hpp"

namespace kgen {
namespace {

// A comma would end it among other items.
std::string yaml_dim(const Dim& dim) {
  const std::string text = dim.text();
  return text.find(',') == text.npos ? text : yaml_string(text);
}

}  // namespace

std::string yaml_number(const Number& number, DType dtype) {
  if (number.is_whole()) return to_text(number);
  const double real = number.real();
  if (std::isnan(real)) return ".nan";
  if (std::isinf(real)) return real < 0 ? "-.inf" : ".inf";
  const auto narrow = static_cast<float>(real);
  const bool fits = dtype != DType::f64 && static_cast<double>(narrow) == real;
  std::string text = fits ? fmt::format("{}", narrow) : fmt::format("{}", real);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  if (const auto exponent = text.find('e'); exponent != text.npos && text.find('.') == text.npos)
    text.insert(exponent, ".0");
  return text;
}

std::string yaml_list(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

std::string yaml_attribute(const AttributeValue& value) {
  struct Writer {
    std::string operator()(bool each) const { return each ? "true" : "false"; }
    std::string operator()(std::int64_t each) const { return fmt::format("{}", each); }
    std::string operator()(const Number& each) const { return yaml_number(each, DType::f32); }
    std::string operator()(const std::string& each) const { return yaml_name(each); }
    std::string operator()(DType each) const { return std::string(info(each).name); }
    std::string operator()(const Dim& each) const { return yaml_dim(each); }
    std::string operator()(const std::vector<Dim>& each) const {
      std::vector<std::string> items;
      for (const Dim& dim : each) items.push_back(yaml_dim(dim));
      return yaml_list(items);
    }
    std::string operator()(const std::vector<Number>& each) const {
      std::vector<std::string> items;
      for (const Number& number : each) items.push_back(yaml_number(number, DType::f32));
      return yaml_list(items);
    }
  };
  return std::visit(Writer{}, value);
}

}  // namespace kgen
