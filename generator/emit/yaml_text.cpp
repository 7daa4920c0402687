#include "generator/emit/yaml_text.hpp"

#include <fmt/format.h>

#include <unordered_set>

namespace kgen {

std::string yaml_name(std::string_view name) {
  static const std::unordered_set<std::string_view> taken = {
      "y",  "n",   "yes",  "no",    "on",   "off", "true", "false", "null", "Y",    "N",     "Yes", "No",
      "On", "Off", "True", "False", "Null", "YES", "NO",   "ON",    "OFF",  "TRUE", "FALSE", "NULL"};
  return taken.contains(name) ? fmt::format("\"{}\"", name) : std::string(name);
}

std::string yaml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

}  // namespace kgen
