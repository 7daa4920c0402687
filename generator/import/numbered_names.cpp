#include "generator/import/numbered_names.hpp"

#include <cstddef>

#include "generator/base/characters.hpp"

namespace kgen {
namespace {

// In turns what is no number and what is one: "a", "12", "b", ...
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts{""};
  for (const char c : name) {
    const bool in_number = parts.size() % 2 == 0;
    if (is_digit(c) != in_number) parts.emplace_back();
    parts.back() += c;
  }
  return parts;
}

}  // namespace

std::optional<NumberedName> numbered_name(const std::vector<std::string>& names) {
  if (names.size() < 2) return std::nullopt;
  const std::vector<std::string> first = parts_of(names[0]), second = parts_of(names[1]);
  if (first.size() != second.size()) return std::nullopt;
  NumberedName result;
  bool behind = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool equal = first[i] == second[i];
    if (!equal && i % 2 == 0) return std::nullopt;
    if (equal) (behind ? result.after : result.before) += first[i];
    behind = behind || !equal;
  }
  return behind ? std::optional(result) : std::nullopt;
}

std::optional<std::string> indexed_key(const std::vector<std::string>& keys) {
  const auto common = numbered_name(keys);
  if (!common) return std::nullopt;
  constexpr std::size_t longest_number = 9;
  const std::size_t end = keys[0].find_first_not_of("0123456789", common->before.size());
  const std::string begin = keys[0].substr(common->before.size(), end - common->before.size());
  if (begin.empty() || begin.size() > longest_number) return std::nullopt;
  const int first = std::stoi(begin);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != common->before + std::to_string(first + static_cast<int>(i)) + common->after) return std::nullopt;
  }
  const std::string mark = first == 0 ? "{index}" : "{index+" + std::to_string(first) + "}";
  if (keys[0].find("{index") != std::string::npos) return std::nullopt;
  return common->before + mark + common->after;
}

}  // namespace kgen
