// Characters of ASCII, whatever the locale is.
#pragma once

namespace kgen {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// What an identifier may begin with.
constexpr bool begins_name(char c) { return is_letter(c) || c == '_'; }

}  // namespace kgen
