#include "generator/write/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/emitted_folder.hpp"
#include "generator/write/text_merge.hpp"
#include "generator/write/update.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

struct Wording {
  FileState state;
  std::string_view word;
  std::string_view advice;  // empty: there is nothing to do
};

constexpr Wording wordings[] = {
    {FileState::conflicting, "conflicting",
     "Conflicting: leave the lines that you want, remove the markers, and run `kgen plan` again."},
    {FileState::unreadable, "unreadable",
     "Unreadable: let there be a file that you may read, or move away what is there and run `kgen plan`."},
    {FileState::missing, "missing", "Missing: `kgen plan` writes the file again."},
    {FileState::orphaned, "orphaned",
     "Orphaned: no longer emitted, and kept because you edited it; remove it when you need it no more."},
    {FileState::pinned, "pinned", ""},
    {FileState::edited, "edited", ""},
};

// Why there is no text at the path of a file that is pinned, missing or unreadable.
void note_absence(const EmittedFolder& folder, const EmittedFile& known, const std::error_code& error,
                  FileStatus& status) {
  const std::string obstacle = folder.obstacle(status.path);
  const EntryKind kind = folder.kind(obstacle.empty() ? status.path : obstacle);
  status.state = FileState::missing;
  if (kind == EntryKind::none && error == std::errc::no_such_file_or_directory) return;
  status.state = known.standing == Standing::pinned ? FileState::pinned : FileState::unreadable;
  const bool is_file = obstacle.empty() && (kind == EntryKind::file || kind == EntryKind::none);
  status.reason = is_file            ? error.message()
                  : obstacle.empty() ? fmt::format("{} is there", kind_text(kind))
                                     : fmt::format("'{}' is {}", obstacle, kind_text(kind));
}

FileStatus file_status(const EmittedFolder& folder, const std::string& path, const EmittedFile& known) {
  FileStatus status;
  status.path = path;
  std::error_code error;
  const std::optional<std::string> text = folder.read(path, error);
  if (!text) {
    note_absence(folder, known, error, status);
    return status;
  }
  status.edited = content_hash(*text) != known.hash;
  if (known.standing == Standing::pinned) status.state = FileState::pinned;
  if (known.standing == Standing::orphaned) status.state = FileState::orphaned;
  if (!status.edited || known.standing != Standing::emitted) return status;
  status.state = FileState::edited;
  const std::vector<std::uint32_t> conflicts = conflict_lines(*text);
  if (conflicts.empty()) return status;
  status.state = FileState::conflicting;
  status.line = conflicts.front();
  return status;
}

// The file that the user means; null after an error.
const FileStatus* find_file(const fs::path& folder, const FolderStatus& status, const std::string& name,
                            Diagnostics& diagnostics) {
  const std::string below = fs::path(name).lexically_normal().lexically_relative(folder.lexically_normal()).string();
  std::vector<std::string> paths;
  for (const FileStatus& file : status.files) {
    if (file.path == name || file.path == below) return &file;
    paths.push_back(file.path);
  }
  Diagnostic& diagnostic =
      diagnostics.error({}, fmt::format("'{}' is no file that kgen wrote to '{}'", name, folder.string()));
  const std::vector<std::string> near = nearest_names(name, paths);
  if (!near.empty()) diagnostic.note(fmt::format("the nearest are {}", quoted_list(near)));
  diagnostic.advise("name it as it stands in the folder: stubs/stub_y.cpp");
  return nullptr;
}

std::string edits_of(const EmittedFolder& folder, const FolderStatus& status, const FileStatus& file, bool color,
                     Diagnostics& diagnostics) {
  std::error_code error;
  const std::optional<std::string> base = read_base(folder, file.path, status.manifest.files.at(file.path).hash);
  const std::optional<std::string> text = folder.read(file.path, error);
  if (!text) report_failure(diagnostics, "read", folder.path(file.path), error);
  if (!base) {
    diagnostics
        .error({}, fmt::format("cannot compare '{}': what kgen wrote there is lost", folder.path(file.path).string()))
        .note(fmt::format("it should be '{}'", folder.path(base_name(file.path)).string()))
        .advise("`kgen plan` keeps your file aside and writes a new one");
  }
  if (!text || !base) return "";
  return unified_diff(file.path, *base, *text, color).value_or("");
}

}  // namespace

FolderStatus folder_status(const fs::path& path, Diagnostics& diagnostics) {
  const EmittedFolder folder(path);
  const FolderLock lock(folder);
  finish_pending_update(folder, diagnostics);
  FolderStatus status;
  if (diagnostics.has_errors()) return status;
  if (folder.kind(manifest_name) == EntryKind::none && folder.kind(old_manifest_name) == EntryKind::none) {
    diagnostics.error({}, fmt::format("'{}' holds nothing that kgen wrote", path.string()))
        .note(fmt::format("there is no '{}'", folder.path(manifest_name).string()))
        .advise("name the folder that `kgen plan --emit` was given");
    return status;
  }
  status.manifest = read_manifest(folder, diagnostics);
  for (const auto& [path, known] : status.manifest.files) status.files.push_back(file_status(folder, path, known));
  return status;
}

bool is_settled(const FolderStatus& status, const std::vector<std::string>& stale) {
  return stale.empty() && std::all_of(status.files.begin(), status.files.end(), [](const FileStatus& file) {
           return file.state == FileState::pinned || file.state == FileState::edited ||
                  file.state == FileState::unedited;
         });
}

std::string status_text(const FolderStatus& status, const std::vector<std::string>& stale) {
  std::string text, advice;
  for (const std::string& reason : stale) text += fmt::format("{:<12} {}\n", "stale", reason);
  if (!stale.empty()) advice += "Stale: `kgen plan` brings the files up to date, and keeps your edits.\n";
  for (const Wording& wording : wordings) {
    bool any = false;
    for (const FileStatus& file : status.files) {
      if (file.state != wording.state) continue;
      any = true;
      const std::string place = file.line > 0 ? fmt::format(":{}", file.line) : "";
      const std::string reason = file.reason.empty() ? "" : fmt::format(": {}", file.reason);
      text += fmt::format("{:<12} {}{}{}\n", wording.word, file.path, place, reason);
    }
    if (any && !wording.advice.empty()) advice.append(wording.advice).append("\n");
  }
  if (text.empty()) return "nothing edited, nothing to do\n";
  return advice.empty() ? text : text + "\n" + advice;
}

std::string edits_text(const fs::path& path, const FolderStatus& status, const std::string& only, bool color,
                       Diagnostics& diagnostics) {
  const EmittedFolder folder(path);
  if (!only.empty()) {
    const FileStatus* file = find_file(path, status, only, diagnostics);
    return file && file->edited ? edits_of(folder, status, *file, color, diagnostics) : "";
  }
  std::string text;
  for (const FileStatus& file : status.files) {
    if (file.edited) text += edits_of(folder, status, file, color, diagnostics);
  }
  return text;
}

}  // namespace kgen
