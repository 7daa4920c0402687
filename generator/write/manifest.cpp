#include "generator/write/manifest.hpp"

#include <fmt/format.h>

#include <utility>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/record.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<Standing, std::string_view> standing_words[] = {{Standing::pinned, "pinned"},
                                                                    {Standing::orphaned, "orphaned"}};
constexpr std::string_view unformatted_word = "unformatted=";

// "c0ffee0123456789  stub_y.cpp", twice for a file while it was being written.
Manifest parse_old_manifest(std::string_view text, const fs::path& folder) {
  Manifest manifest;
  for (const RecordLine& line : parse_record(text)) {
    const auto hash = parse_hash(line.kind);
    if (!hash || line.words.size() < 2 || !line.words[0].empty()) continue;
    const std::string path = fmt::format("{}", fmt::join(line.words.begin() + 1, line.words.end(), " "));
    if (!is_emitted_path(path)) continue;
    std::error_code error;
    const std::optional<std::string> content = read_file(folder / path, error);
    const bool stands = content && content_hash(*content) == *hash;
    if (stands || !manifest.files.contains(path)) manifest.files[path].hash = *hash;
  }
  return manifest;
}

}  // namespace

fs::path manifest_path(const fs::path& folder) { return folder / record_name / "manifest"; }

fs::path base_folder(const fs::path& folder) { return folder / record_name / "base"; }

std::string manifest_text(const Manifest& manifest) {
  std::string text =
      "# What kgen wrote to this folder. Keep .kgen/ with the files: it is how edits are told apart and merged.\n";
  text += record_text({"kgen", {manifest.version}, {}, {}});
  for (const EmissionInput& input : manifest.inputs) text += record_text({"input", {}, input.hash, input.name});
  for (const std::string& directory : manifest.include_directories) text += record_text({"include", {}, {}, directory});
  for (const auto& [path, file] : manifest.files) {
    RecordLine line{"file", {}, file.hash, path};
    for (const auto& [standing, word] : standing_words) {
      if (standing == file.standing) line.words.emplace_back(word);
    }
    if (file.unformatted) line.words.push_back(std::string(unformatted_word) + hash_text(*file.unformatted));
    text += record_text(line);
  }
  return text;
}

Manifest parse_manifest(std::string_view text) {
  Manifest manifest;
  for (const RecordLine& line : parse_record(text)) {
    if (line.kind == "kgen" && line.words.size() == 1) manifest.version = line.words[0];
    if (line.kind == "include" && !line.path.empty()) manifest.include_directories.push_back(line.path);
    if (!line.hash || line.path.empty()) continue;
    if (line.kind == "input") manifest.inputs.push_back({line.path, *line.hash});
    if (line.kind != "file" || !is_emitted_path(line.path)) continue;
    EmittedFile& file = manifest.files[line.path];
    file.hash = *line.hash;
    for (const std::string_view given : line.words) {
      for (const auto& [standing, word] : standing_words) {
        if (given == word) file.standing = standing;
      }
      if (given.starts_with(unformatted_word)) file.unformatted = parse_hash(given.substr(unformatted_word.size()));
    }
  }
  return manifest;
}

Manifest read_manifest(const fs::path& folder, Diagnostics& diagnostics) {
  const fs::path path = manifest_path(folder), old_path = folder / old_manifest_name;
  std::error_code error;
  const bool is_old = !fs::exists(path, error) && fs::exists(old_path, error);
  const fs::path& read = is_old ? old_path : path;
  if (!fs::exists(read, error)) return {};
  const std::optional<std::string> text = read_file(read, error);
  if (!text) report_failure(diagnostics, "read", read, error);
  return is_old ? parse_old_manifest(text.value_or(""), folder) : parse_manifest(text.value_or(""));
}

bool is_emitted_path(const std::string& path) {
  const fs::path relative(path);
  const bool one_line = path.find('\n') == path.npos;  // as the manifest holds it
  if (path.empty() || !one_line || relative.is_absolute()) return false;
  if (relative.lexically_normal().string() != path) return false;
  const std::string first = relative.begin()->string();
  return first != ".." && first != "." && first != record_name && first != old_manifest_name && relative.has_filename();
}

std::optional<std::string> read_base(const fs::path& folder, const std::string& path, std::uint64_t hash) {
  std::error_code error;
  std::optional<std::string> text = read_file(base_folder(folder) / path, error);
  if (text && content_hash(*text) != hash) text.reset();
  return text;
}

}  // namespace kgen
