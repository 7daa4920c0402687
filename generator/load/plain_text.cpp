#include "generator/load/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/base/characters.hpp"
#include "generator/base/utf8.hpp"

namespace kgen {
namespace {

constexpr std::string_view hidden = "[],";
constexpr std::string_view masks = "\x01\x02\x03";

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_word(char c) { return begins_name(c) || is_digit(c); }

bool is_arithmetic(char c) { return is_word(c) || std::string_view(" +-*/(),").find(c) != std::string_view::npos; }

// The length in bytes of the character at `i`; 0 where there is none that may stand in a text.
std::size_t text_character_length(std::string_view text, std::size_t i) {
  const unsigned char lead = byte_at(text, i);
  const bool may_stand = (lead >= 0x20 && lead != 0x7f) || lead == '\t' || lead == '\n' || lead == '\r';
  return may_stand ? character_length(text.substr(i)) : 0;
}

std::string translate(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  for (char& c : result) {
    const auto found = from.find(c);
    if (found != from.npos) c = to[found];
  }
  return result;
}

}  // namespace

bool validate_plain_text(const SourceText& source, Diagnostics& diagnostics) {
  const std::string_view text = source.content;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text_character_length(text, i);
    if (length > 0) {
      i += length;
      continue;
    }
    const std::string_view before = text.substr(0, i);
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    const SourceLocation where{&source, static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
                               static_cast<std::uint32_t>(count_characters(before.substr(line_begin)) + 1)};
    const unsigned char bad = byte_at(text, i);
    diagnostics.error(where, fmt::format("not a text file: byte 0x{:02x} at offset {} is {}", bad, i,
                                         bad < 0x80 ? "a control character" : "not UTF-8"));
    return false;
  }
  return true;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string mask_types(std::string_view text) {
  std::string result(text);
  for (std::size_t open = result.find('[', 1); open < result.size(); open = result.find('[', open + 1)) {
    if (!is_word(result[open - 1])) continue;
    std::size_t close = open + 1;
    while (close < result.size() && is_arithmetic(result[close])) ++close;
    if (close == result.size() || result[close] != ']') continue;
    for (std::size_t i = open; i <= close; ++i) {
      const auto found = hidden.find(result[i]);
      if (found != hidden.npos) result[i] = masks[found];
    }
  }
  return result;
}

std::string unmask_types(std::string_view text) { return translate(text, masks, hidden); }

}  // namespace kgen
