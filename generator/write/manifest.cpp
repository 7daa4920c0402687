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
Manifest parse_old_manifest(std::string_view text, const EmittedFolder& folder) {
  Manifest manifest;
  for (const RecordLine& line : parse_record(text)) {
    const auto hash = parse_hash(line.kind);
    if (!hash || line.words.size() < 2 || !line.words[0].empty()) continue;
    const std::string path = fmt::format("{}", fmt::join(line.words.begin() + 1, line.words.end(), " "));
    if (!is_emitted_path(path)) continue;
    std::error_code error;
    const std::optional<std::string> content = folder.read(path, error);
    const bool stands = content && content_hash(*content) == *hash;
    if (stands || !manifest.files.contains(path)) manifest.files[path].hash = *hash;
  }
  return manifest;
}

void add_file(const RecordLine& line, Manifest& manifest) {
  EmittedFile& file = manifest.files[line.path];
  file.hash = *line.hash;
  for (const std::string_view given : line.words) {
    for (const auto& [standing, word] : standing_words) {
      if (given == word) file.standing = standing;
    }
    if (given.starts_with(unformatted_word)) file.unformatted = parse_hash(given.substr(unformatted_word.size()));
  }
}

// False where the line is none that kgen wrote.
bool add_line(const RecordLine& line, Manifest& manifest) {
  const bool is_hashed = line.hash && !line.path.empty();
  if (line.kind == "kgen") {
    if (line.words.size() == 1) manifest.version = line.words[0];
    return line.words.size() == 1;
  }
  if (line.kind == "include") {
    manifest.include_directories.push_back(line.path);
    return !line.path.empty();
  }
  if (line.kind == "input") {
    if (is_hashed) manifest.inputs.push_back({line.path, *line.hash});
    return is_hashed;
  }
  if (line.kind == "file") {
    const bool is_good = is_hashed && is_emitted_path(line.path);
    if (is_good) add_file(line, manifest);
    return is_good;
  }
  return may_be_later(line);
}

void advise_on_damage(Diagnostic& diagnostic) {
  diagnostic.note("by its manifest kgen tells what you edited from what it wrote; nothing was touched");
  diagnostic.advise(
      "take it back from version control; or remove .kgen and run `kgen plan`, which then keeps each file that differs "
      "from what it writes as <file>.edited");
}

// What stands where kgen keeps its record must be folders.
void validate_record(const EmittedFolder& folder, Diagnostics& diagnostics) {
  for (const std::string_view name : {record_name, bases_name}) {
    const EntryKind kind = folder.kind(name);
    if (kind == EntryKind::none || kind == EntryKind::folder) continue;
    diagnostics
        .error({}, fmt::format("'{}' is {}: kgen keeps its record of what it wrote in a folder of that name",
                               folder.path(name).string(), kind_text(kind)))
        .advise("move it away, and run `kgen plan` again");
    return;
  }
}

}  // namespace

std::string base_name(std::string_view path) { return fmt::format("{}/{}", bases_name, path); }

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

Manifest parse_manifest(std::string_view text, const fs::path& shown, Diagnostics& diagnostics) {
  Manifest manifest;
  for (const RecordLine& line : parse_record(text)) {
    if (add_line(line, manifest)) continue;
    advise_on_damage(report_damage(shown, line, diagnostics));
    return {};
  }
  if (!manifest.version.empty() && text.ends_with('\n')) return manifest;
  const std::string_view lost = manifest.version.empty() ? "it does not say which kgen wrote it" : "its end is missing";
  advise_on_damage(diagnostics.error({}, fmt::format("'{}' is damaged: {}", shown.string(), lost)));
  return {};
}

Manifest read_manifest(const EmittedFolder& folder, Diagnostics& diagnostics) {
  validate_record(folder, diagnostics);
  const bool is_old = folder.kind(manifest_name) == EntryKind::none;
  const std::string_view name = is_old ? old_manifest_name : manifest_name;
  if (diagnostics.has_errors() || folder.kind(name) == EntryKind::none) return {};
  std::error_code error;
  const std::optional<std::string> text = folder.read(name, error);
  if (!text) report_failure(diagnostics, "read", folder.path(name), error);
  if (!text) return {};
  return is_old ? parse_old_manifest(*text, folder) : parse_manifest(*text, folder.path(name), diagnostics);
}

bool is_emitted_path(const std::string& path) {
  const fs::path relative(path);
  const bool one_line = path.find_first_of(std::string_view("\n\0", 2)) == path.npos;  // as the manifest holds it
  if (path.empty() || !one_line || relative.is_absolute()) return false;
  if (relative.lexically_normal().string() != path) return false;
  const std::string first = relative.begin()->string();
  return first != ".." && first != "." && first != record_name && first != old_manifest_name && relative.has_filename();
}

std::optional<std::string> read_base(const EmittedFolder& folder, const std::string& path, std::uint64_t hash) {
  std::error_code error;
  std::optional<std::string> text = folder.read(base_name(path), error);
  if (text && content_hash(*text) != hash) text.reset();
  return text;
}

}  // namespace kgen
