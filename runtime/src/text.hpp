// Texts of messages. Without streams: what loads the library may have a C++ library of its own, of whose locales a stream
// would see a part.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "kgen/runtime/error.hpp"

namespace kgen {

// Numbers are decimal; those that are not whole have up to 6 digits.
template <class Part>
void append(std::string& text, const Part& part) {
  if constexpr (std::is_same_v<Part, char>) {
    text += part;
  } else if constexpr (std::is_integral_v<Part>) {
    text += std::to_string(part);
  } else if constexpr (std::is_floating_point_v<Part>) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%g", static_cast<double>(part));
    text += digits;
  } else {
    text += std::string_view(part);
  }
}

// The parts, one after another.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

template <class... Parts>
[[noreturn]] void fail(kgen_status status, const Parts&... parts) {
  throw Error(status, concat(parts...));
}

// "[M, 4096]"; the items may be numbers or texts.
template <class Item>
std::string bracketed(std::span<const Item> items) {
  std::string text = "[";
  const char* separator = "";
  for (const Item& item : items) {
    append(text, separator);
    append(text, item);
    separator = ", ";
  }
  return text + ']';
}

}  // namespace kgen
