#include "generator/emit/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "generator/base/cpp_names.hpp"

namespace kgen {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string namespace_name(std::string_view graph) { return fmt::format("graph_{}", graph); }

bool is_reserved_in_cpp(std::string_view name) {
  return name == "kgen" || name == "std" || !reason_not_in_cpp(name).empty();
}

std::string NameTable::unique(std::string_view wish) {
  std::string name;
  if (wish.empty() || std::isdigit(static_cast<unsigned char>(wish[0])) != 0) name += 'v';
  for (const char c : wish) name += is_word_character(c) ? c : '_';
  while (is_reserved_in_cpp(name) || taken(name)) name += '_';
  reserve(name);
  return name;
}

void NameTable::reserve_global(std::string_view used) {
  const auto end = std::find_if_not(used.begin(), used.end(), is_word_character);
  const std::string_view rest(end, used.end());
  if (!rest.starts_with("::")) reserve(std::string(used.begin(), end));
}

}  // namespace kgen
