// UTF-8, a character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace kgen {

// The length in bytes of the character that starts `text`; 0 where there is none, or the bytes are not UTF-8.
std::size_t character_length(std::string_view text);

// The code point of a character of that length.
char32_t code_point(std::string_view character);

}  // namespace kgen
