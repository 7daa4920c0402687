#include "generator/base/languages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "generator/base/characters.hpp"
#include "generator/base/utf8.hpp"

namespace kgen {
namespace {

// Letters, digits and `more`; not empty.
bool is_made_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return begins_name(c) || is_digit(c) || more.find(c) != more.npos;
  });
}

bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7f && point < 0xa0); }

// What ends a line for some reader, or turns the direction of what follows.
bool is_hidden(char32_t point) {
  return point == 0x061c || point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

// Calls shown(character) for each that may be seen, unseen(character, point) for each that may not, and
// unseen(byte, -1) for each byte that is not UTF-8.
template <class Shown, class Unseen>
void for_each_character(std::string_view text, Shown&& shown, Unseen&& unseen) {
  constexpr char32_t no_character = static_cast<char32_t>(-1);
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const char32_t point = length == 0 ? no_character : code_point(character);
    if (point == no_character || is_control(point) || is_hidden(point)) {
      unseen(character, point);
    } else {
      shown(character);
    }
    text.remove_prefix(character.size());
  }
}

// "\n", or "\x1b", or "\u202e".
std::string escape_text(std::string_view character, char32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\r') return "\\r";
  if (point == '\t') return "\\t";
  if (character.size() == 1) return fmt::format("\\x{:02x}", static_cast<unsigned char>(character[0]));
  return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
}

// "\303\251": bytes in a form that what follows cannot prolong.
std::string octal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::string cpp_string(std::string_view text) {
  std::string result = "\"";
  for_each_character(
      text,
      [&](std::string_view character) {
        // "??" could begin a trigraph of older standards.
        const bool escaped = character == "\"" || character == "\\" || (character == "?" && result.ends_with('?'));
        if (escaped) result += '\\';
        result += character;
      },
      [&](std::string_view bytes, char32_t) { result += octal(bytes); });
  return result + "\"";
}

std::string comment_text(std::string_view text) {
  std::string result;
  for_each_character(
      text, [&](std::string_view character) { result += character; },
      [&](std::string_view character, char32_t point) { result += escape_text(character, point); });
  // A line is broken at blanks, and one that ends with a backslash goes on with the next.
  for (std::size_t end = result.size(); end > 0; --end) {
    if (end < result.size() && result[end] != ' ') continue;
    const std::string_view before = std::string_view(result).substr(0, end);
    if (before.ends_with('\\')) result.replace(end - 1, 1, "\\x5c");
    if (before.ends_with("?\?/")) result.replace(end - 1, 1, "\\x2f");
  }
  return result;
}

namespace {

std::string cmake_quoted_part(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      result += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
      continue;
    }
    if (std::string_view("\"\\$;@").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string cmake_argument(std::string_view text) {
  if (is_made_of(text, "./+-")) return std::string(text);
  return fmt::format("\"{}\"", cmake_quoted_part(text));
}

std::string cmake_path(std::string_view path) {
  if (path.starts_with('/')) return cmake_argument(path);
  if (is_made_of(path, "./+-")) return fmt::format("${{CMAKE_CURRENT_LIST_DIR}}/{}", path);
  return fmt::format("\"${{CMAKE_CURRENT_LIST_DIR}}/{}\"", cmake_quoted_part(path));
}

std::string cmake_target(std::string_view graph) {
  static const std::unordered_set<std::string_view> taken = {"all",
                                                             "ALL_BUILD",
                                                             "c",
                                                             "clean",
                                                             "codegen",
                                                             "default_target",
                                                             "depend",
                                                             "dl",
                                                             "edit_cache",
                                                             "help",
                                                             "INSTALL",
                                                             "install",
                                                             "list_install_components",
                                                             "m",
                                                             "PACKAGE",
                                                             "package",
                                                             "package_source",
                                                             "preinstall",
                                                             "pthread",
                                                             "rebuild_cache",
                                                             "rt",
                                                             "RUN_TESTS",
                                                             "test",
                                                             "ZERO_CHECK"};
  return fmt::format("{}{}", taken.contains(graph) ? "graph_" : "", graph);
}

std::string yaml_string(std::string_view text) {
  // Nearly all text means itself, and is most of a large plan.
  const auto means_itself = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  std::string result;
  result.reserve(text.size() + 2);
  result = '"';
  if (std::all_of(text.begin(), text.end(), means_itself)) return result.append(text).append(1, '"');
  for_each_character(
      text,
      [&](std::string_view character) {
        if (character == "\"" || character == "\\") result += '\\';
        result += character;
      },
      [&](std::string_view character, char32_t point) {
        const bool is_character = character_length(character) > 0;
        result += is_character ? escape_text(character, point) : "\xEF\xBF\xBD";
      });
  return result + '"';
}

std::string yaml_name(std::string_view text) {
  static const std::unordered_set<std::string_view> taken = {
      "y",  "n",   "yes",  "no",    "on",   "off", "true", "false", "null", "Y",    "N",     "Yes", "No",
      "On", "Off", "True", "False", "Null", "YES", "NO",   "ON",    "OFF",  "TRUE", "FALSE", "NULL"};
  constexpr std::size_t longest_taken = 5;
  const bool means_itself = is_made_of(text, "./:<>-") && (begins_name(text[0]) || text[0] == '/') &&
                            text.back() != ':' && (text.size() > longest_taken || !taken.contains(text));
  return means_itself ? std::string(text) : yaml_string(text);
}

std::string make_path(std::string_view path) {
  std::string result;
  std::size_t backslashes = 0;  // that end `result`; they double before a blank alone
  for (const char c : path) {
    if (c == ' ' || c == '\t') result.append(backslashes + 1, '\\');
    if (c == '#' || c == ':') result += '\\';
    if (c == '$') result += '$';
    result += c;
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  return result;
}

bool is_make_path(std::string_view path) {
  return path.find_first_of("\n\r") == path.npos && path.find('\0') == path.npos;
}

std::string shell_word(std::string_view text) {
  if (is_made_of(text, "./=+:,@%-")) return std::string(text);
  bool all_seen = true;
  std::string plain = "'", escaped = "$'";
  for_each_character(
      text,
      [&](std::string_view character) {
        plain += character == "'" ? "'\\''" : character;
        if (character == "'" || character == "\\") escaped += '\\';
        escaped += character;
      },
      [&](std::string_view bytes, char32_t) {
        all_seen = false;
        escaped += octal(bytes);
      });
  return fmt::format("{}'", all_seen ? plain : escaped);
}

}  // namespace kgen
