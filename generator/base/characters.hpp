// Characters of ASCII, whatever the locale is.
#pragma once

#include <string>
#include <string_view>

namespace kgen {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// What an identifier may begin with.
constexpr bool begins_name(char c) { return is_letter(c) || c == '_'; }

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace kgen
