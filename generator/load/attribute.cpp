#include "generator/load/attribute.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "generator/load/fields.hpp"

namespace kgen {
namespace {

// The alternative T of AttributeValue, given in so many words: a Dim could be made from a number.
template <class T>
std::optional<AttributeValue> wrap(std::optional<T> value) {
  if (!value) return std::nullopt;
  return AttributeValue(std::in_place_type<T>, std::move(*value));
}

std::optional<std::string> read_word(Yaml value, const AttributeSpec& spec, std::string_view what,
                                     Diagnostics& diagnostics) {
  if (spec.allowed.empty()) {
    const auto text = read_text(value, what, diagnostics);
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  const auto choice = read_choice(value, what, spec.allowed, diagnostics);
  return choice ? std::optional(spec.allowed[*choice]) : std::nullopt;
}

// One number is a list of it.
std::optional<std::vector<Number>> read_numbers(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  std::vector<Number> numbers;
  bool good = true;
  const auto read = [&](Yaml item, std::string_view each) {
    const auto number = read_number(item, each, diagnostics);
    good = good && number;
    if (number) numbers.push_back(*number);
  };
  if (value.is_sequence()) {
    for (const Yaml item : value.items()) read(item, fmt::format("each item of {}", what));
  } else {
    read(value, what);
  }
  return good ? std::optional(std::move(numbers)) : std::nullopt;
}

}  // namespace

std::optional<AttributeValue> read_attribute(Yaml value, const AttributeSpec& spec, std::string_view what,
                                             DimScope& dims, Diagnostics& diagnostics) {
  switch (spec.type) {
    case AttributeType::boolean:
      return wrap(read_boolean(value, what, diagnostics));
    case AttributeType::integer:
      return wrap(read_integer(value, what, diagnostics));
    case AttributeType::number:
      return wrap(read_number(value, what, diagnostics));
    case AttributeType::text:
      return wrap(read_word(value, spec, what, diagnostics));
    case AttributeType::dtype:
      return wrap(read_dtype(value, diagnostics));
    case AttributeType::dim:
      return wrap(read_dim(value, what, dims, diagnostics));
    case AttributeType::dims:
      return wrap(read_dims(value, what, dims, diagnostics));
    case AttributeType::numbers:
      return wrap(read_numbers(value, what, diagnostics));
  }
  return std::nullopt;
}

}  // namespace kgen
