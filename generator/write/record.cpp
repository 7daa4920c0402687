#include "generator/write/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "generator/base/hash.hpp"

namespace kgen {
namespace {

constexpr std::string_view hash_key = "hash=", path_key = "path=";

// What stands before the next `separator`, which goes with it.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

// A path as it stands in a record, on one line whatever it holds.
std::string escaped(std::string_view path) {
  std::string result;
  for (const char c : path) {
    if (c == '\\') result += '\\';
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    result += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return result;
}

RecordLine parse_line(std::string_view text) {
  RecordLine line;
  line.kind = take_until(text, ' ');
  while (!text.empty() && !text.starts_with(path_key)) {
    const std::string_view word = take_until(text, ' ');
    if (word.starts_with(hash_key)) {
      line.hash = parse_hash(word.substr(hash_key.size()));
    } else {
      line.words.emplace_back(word);
    }
  }
  if (!text.empty()) line.path = unescaped(text.substr(path_key.size()));
  return line;
}

}  // namespace

std::optional<std::uint64_t> parse_hash(std::string_view digits) {
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  if (digits.size() != 16 || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return hash;
}

std::string record_text(const RecordLine& line) {
  std::string text = line.kind;
  for (const std::string& word : line.words) text.append(" ").append(word);
  if (line.hash) text.append(" ").append(hash_key).append(hash_text(*line.hash));
  if (!line.path.empty()) text.append(" ").append(path_key).append(escaped(line.path));
  return text + "\n";
}

std::vector<RecordLine> parse_record(std::string_view text) {
  std::vector<RecordLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_until(text, '\n');
    if (line.empty() || line.front() == '#') continue;
    lines.push_back(parse_line(line));
    lines.back().number = number;
    lines.back().text = line;
  }
  return lines;
}

bool may_be_later(const RecordLine& line) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return std::all_of(line.kind.begin(), line.kind.end(), is_letter);
}

Diagnostic& report_damage(const std::filesystem::path& record, const RecordLine& line, Diagnostics& diagnostics) {
  return diagnostics.error({},
                           fmt::format("'{}' is damaged in line {}: '{}'", record.string(), line.number, line.text));
}

}  // namespace kgen
