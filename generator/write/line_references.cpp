#include "generator/write/line_references.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <vector>

#include "generator/write/text_merge.hpp"

namespace kgen {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end == text.npos ? text.size() : end + 1);
  text.remove_prefix(line.size());
  return line;
}

// The line, with each number of a reference in its comment replaced by what `replace` makes of it.
template <class Replace>
std::string with_references(std::string_view line, Replace&& replace) {
  const auto comment = line.find("//");
  if (comment == line.npos) return std::string(line);
  std::string result(line.substr(0, comment));
  bool in_reference = false;  // after the colon, or the dash after a number
  for (std::size_t at = comment; at < line.size();) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
    if (in_reference && is_digit(line[at]) && error == std::errc()) {
      result += replace(number);
      at = static_cast<std::size_t>(end - line.data());
      in_reference = at < line.size() && line[at] == '-';
    } else {
      in_reference = line[at] == ':';
    }
    if (at < line.size()) result += line[at++];
  }
  return result;
}

// The text without the numbers, and the numbers of each line.
struct Masked {
  std::string text;
  std::vector<std::vector<std::uint64_t>> references;
};

Masked mask(std::string_view text) {
  Masked masked;
  while (!text.empty()) {
    std::vector<std::uint64_t>& references = masked.references.emplace_back();
    masked.text += with_references(take_line(text), [&](std::uint64_t number) {
      references.push_back(number);
      return "#";
    });
  }
  masked.references.emplace_back();  // of the empty line after the last end of line
  return masked;
}

}  // namespace

LineMoves moved_references(std::string_view before, std::string_view after) {
  const Masked old_text = mask(before), new_text = mask(after);
  LineMoves moves;
  std::set<std::uint64_t> ambiguous;
  const auto pairs = common_lines(old_text.text, new_text.text);
  for (const auto& [old_line, new_line] : pairs.value_or(LinePairs())) {
    const auto& from = old_text.references[old_line - 1];
    const auto& to = new_text.references[new_line - 1];
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
      if (moves.emplace(from[i], to[i]).first->second != to[i]) ambiguous.insert(from[i]);
    }
  }
  for (const std::uint64_t number : ambiguous) moves.erase(number);
  return moves;
}

std::string move_references(std::string_view text, const LineMoves& moves) {
  std::string result;
  while (!text.empty()) {
    result += with_references(take_line(text), [&](std::uint64_t number) {
      const auto found = moves.find(number);
      return std::to_string(found == moves.end() ? number : found->second);
    });
  }
  return result;
}

}  // namespace kgen
