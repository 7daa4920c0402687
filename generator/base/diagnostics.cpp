#include "generator/base/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "generator/base/characters.hpp"
#include "generator/base/utf8.hpp"

namespace kgen {
namespace {

constexpr std::size_t most_shown = 20;                    // of errors, and of warnings
constexpr std::size_t columns_before = 60;                // of a long line, before the caret
constexpr std::size_t columns_shown = 100;                // of a long line
constexpr std::size_t longest_message = 4000;             // bytes: a message may quote a name that is a megabyte long
constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD, for what a terminal must not be sent

struct Style {
  std::string_view bold, error, warning, note, caret, reset;
};
constexpr Style plain_style{};
constexpr Style color_style{"\x1b[1m", "\x1b[1;31m", "\x1b[1;35m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[0m"};

// U+0000 to U+001F, and U+007F to U+009F.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  return byte(0) == 0xc2 && byte(1) < 0xa0;
}

// Drops one character, or one byte that is none, from the front of `rest`, and returns what to show for it.
std::string_view take_character(std::string_view& rest) {
  const std::size_t length = character_length(rest);
  const std::string_view character = rest.substr(0, length);
  rest.remove_prefix(std::max<std::size_t>(length, 1));
  if (character == "\t") return "  ";
  return character.empty() || is_control(character) ? replacement : character;
}

// A message, free of control characters other than line ends, and of a length that a person may read.
std::string printable(std::string_view text) {
  const bool cut = text.size() > longest_message;
  if (cut) text = text.substr(0, longest_message);
  std::string result;
  while (!text.empty()) {
    if (text[0] == '\n') {
      result += '\n';
      text.remove_prefix(1);
    } else {
      result += take_character(text);
    }
  }
  return cut ? result + "..." : result;
}

// The text of line `number` (from 1), without its end; empty past the end of the file.
std::string_view line_of(std::string_view content, std::uint32_t number) {
  for (std::uint32_t line = 1; line < number; ++line) {
    const auto end = content.find('\n');
    if (end == std::string_view::npos) return {};
    content.remove_prefix(end + 1);
  }
  content = content.substr(0, content.find('\n'));
  if (content.ends_with('\r')) content.remove_suffix(1);
  return content;
}

// The stretch of a line around one column, and how far right in it the caret stands.
struct Excerpt {
  std::string text;
  std::size_t caret = 0;
};

Excerpt excerpt_of(std::string_view line, std::uint32_t column) {
  const std::size_t target = column > 0 ? column - 1 : 0;
  const std::size_t first = target > columns_before ? target - columns_before : 0;
  std::string_view rest = line;
  for (std::size_t i = 0; i < first && !rest.empty(); ++i) take_character(rest);

  Excerpt excerpt;
  if (first > 0) excerpt.text = "...";
  std::size_t width = excerpt.text.size();
  excerpt.caret = width;
  for (std::size_t i = first; i < first + columns_shown && !rest.empty(); ++i) {
    width += rest[0] == '\t' ? 2 : 1;
    excerpt.text += take_character(rest);
    if (i < target) excerpt.caret = width;  // the end of a line that is shorter than the column
  }
  if (!rest.empty()) excerpt.text += "...";
  return excerpt;
}

void append_line(std::string& out, const SourceLocation& where, const Style& style) {
  const Excerpt excerpt = excerpt_of(line_of(where.text->content, where.line), where.column);
  out += fmt::format("{:>5} | {}\n", where.line, excerpt.text);
  if (where.column > 0) out += fmt::format("      | {:{}}{}^{}\n", "", excerpt.caret, style.caret, style.reset);
}

// "graph.yaml:12:8: ", as much of it as is known.
std::string prefix_of(const SourceLocation& where) {
  if (!where.text) return "";
  const std::string path = printable(where.text->path);
  if (where.line == 0) return path + ": ";
  if (where.column == 0) return fmt::format("{}:{}: ", path, where.line);
  return fmt::format("{}:{}:{}: ", path, where.line, where.column);
}

void append_entry(std::string& out, const SourceLocation& where, std::string_view kind, std::string_view kind_style,
                  std::string_view message, const Style& style) {
  out += fmt::format("{}{}{}{}{}:{} {}\n", style.bold, prefix_of(where), style.reset, kind_style, kind, style.reset,
                     printable(message));
  if (where.known()) append_line(out, where, style);
}

void append_diagnostic(std::string& out, const Diagnostic& diagnostic, const Style& style) {
  const bool is_error = diagnostic.severity == Severity::error;
  append_entry(out, diagnostic.where, is_error ? "error" : "warning", is_error ? style.error : style.warning,
               diagnostic.message, style);
  for (const auto& [where, message] : diagnostic.notes) append_entry(out, where, "note", style.note, message, style);
  if (!diagnostic.help.empty()) append_entry(out, {}, "help", style.note, diagnostic.help, style);
}

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

Diagnostic& Diagnostic::note(SourceLocation location, std::string text) {
  notes.emplace_back(location, std::move(text));
  return *this;
}

Diagnostic& Diagnostic::advise(std::string text) {
  help = std::move(text);
  return *this;
}

Diagnostic& Diagnostics::error(SourceLocation where, std::string message) {
  ++errors_;
  return all_.emplace_back(Diagnostic{Severity::error, where, std::move(message), {}, {}});
}

Diagnostic& Diagnostics::warning(SourceLocation where, std::string message) {
  return all_.emplace_back(Diagnostic{Severity::warning, where, std::move(message), {}, {}});
}

std::string Diagnostics::text(bool color) const {
  const Style& style = color ? color_style : plain_style;
  std::string out;
  std::array<std::size_t, 2> seen{};  // by severity
  for (const Diagnostic& diagnostic : all_) {
    if (++seen[static_cast<std::size_t>(diagnostic.severity)] <= most_shown) append_diagnostic(out, diagnostic, style);
  }
  for (const Severity severity : {Severity::warning, Severity::error}) {
    const std::size_t count = seen[static_cast<std::size_t>(severity)];
    if (count <= most_shown) continue;
    const std::string_view kind = severity == Severity::error ? "error" : "warning";
    const std::size_t hidden = count - most_shown;
    out += fmt::format("{} more {}{} not shown\n", hidden, kind, hidden == 1 ? " is" : "s are");
  }
  return out;
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates,
                                       std::size_t limit) {
  constexpr std::size_t longest_name = 200;  // nobody misspells a longer one
  if (name.size() > longest_name) return {};
  const std::string wanted = lower_case(name);
  const std::size_t farthest = (wanted.size() + 2) / 3;
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > wanted.size() + farthest || wanted.size() > candidate.size() + farthest) continue;
    const std::size_t distance = edit_distance(wanted, lower_case(candidate));
    const bool alike = distance < std::max(wanted.size(), candidate.size());
    if (distance <= farthest && alike) near.emplace_back(distance, &candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > limit) near.resize(limit);
  std::vector<std::string> result;
  for (const auto& [distance, candidate] : near) result.push_back(*candidate);
  return result;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) result += i + 1 == names.size() ? " and " : ", ";
    result += "'" + names[i] + "'";
  }
  return result;
}

std::string nearest_text(const std::vector<std::string>& near) {
  return (near.size() == 1 ? "the nearest name is " : "the nearest names are ") + quoted_list(near);
}

}  // namespace kgen
