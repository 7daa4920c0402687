#include "generator/write/update.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "generator/base/hash.hpp"
#include "generator/write/record.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

fs::path staging_folder(const fs::path& folder) { return folder / record_name / "staging"; }
fs::path pending_folder(const fs::path& folder) { return folder / record_name / "pending"; }

// Within staging and pending:
constexpr std::string_view steps_name = "steps";        // a line for each change
constexpr std::string_view files_name = "files";        // new texts
constexpr std::string_view bases_name = "base";         // new bases
constexpr std::string_view manifest_name = "manifest";  // as it is if every step is taken

constexpr std::pair<FileAction, std::string_view> action_words[] = {
    {FileAction::write, "write"}, {FileAction::keep_aside, "keep_aside"}, {FileAction::remove, "remove"}};

std::string steps_text(const std::vector<FileChange>& changes) {
  std::string text;
  for (const FileChange& change : changes) {
    for (const auto& [action, word] : action_words) {
      if (action == change.action) text += record_text({std::string(word), {}, change.before, change.path});
    }
  }
  return text;
}

// The changes of a pending update, without their texts.
std::vector<FileChange> parse_steps(std::string_view text) {
  std::vector<FileChange> changes;
  for (const RecordLine& line : parse_record(text)) {
    for (const auto& [action, word] : action_words) {
      if (line.kind == word && is_emitted_path(line.path)) changes.push_back({line.path, action, line.hash, {}, {}});
    }
  }
  return changes;
}

bool write_staged(const fs::path& path, std::string_view content, const Disk& disk, const fs::path& shown,
                  Diagnostics& diagnostics) {
  std::error_code error = disk.create_folder(path.parent_path());
  if (!error) error = disk.write(path, content);
  if (error) report_failure(diagnostics, "write", shown, error);
  return !error;
}

// Writes all that the update needs aside. What fails for lack of space or of rights fails here.
bool stage(const Update& update, const fs::path& folder, const Disk& disk, Diagnostics& diagnostics) {
  const fs::path staging = staging_folder(folder);
  const auto write = [&](const fs::path& name, std::string_view content, const fs::path& shown) {
    return write_staged(staging / name, content, disk, shown, diagnostics);
  };
  for (const FileChange& change : update.changes) {
    const fs::path shown = folder / change.path;
    if (change.action == FileAction::remove) continue;
    if (change.content && !write(fs::path(files_name) / change.path, *change.content, shown)) return false;
    if (!write(fs::path(bases_name) / change.path, change.base, shown)) return false;
  }
  return write(steps_name, steps_text(update.changes), manifest_path(folder)) &&
         write(manifest_name, manifest_text(update.manifest), manifest_path(folder));
}

// A pending update on its way to the folder.
struct Carrying {
  const fs::path& folder;
  const Disk& disk;
  Manifest before;  // the manifest is the last thing to be replaced
  Outcome outcome;
  Diagnostics& diagnostics;
};

bool keep_aside(const fs::path& path, const std::string& name, Carrying& carrying) {
  const fs::path kept = name_beside(path);
  if (const std::error_code error = carrying.disk.move(path, kept)) {
    report_failure(carrying.diagnostics, "keep a file as", kept, error);
    return false;
  }
  ++carrying.outcome.kept_aside;
  const auto known = carrying.before.files.find(name);
  std::string_view why = "was not written by kgen";
  if (known != carrying.before.files.end()) {
    const bool has_base = read_base(carrying.folder, name, known->second.hash).has_value();
    why = has_base ? "was edited, and kgen writes it anew each time"
                   : "was edited, but what it was made from is lost";
  }
  carrying.diagnostics.warning({}, fmt::format("'{}' {}: it is kept as '{}'", path.string(), why, kept.string()))
      .advise("carry over what you need from it, then remove it");
  return true;
}

// What stands at the path now; nothing where no file does. False, with an error reported, where it cannot be read.
bool read_present(const fs::path& path, std::optional<std::string>& present, Diagnostics& diagnostics) {
  std::error_code error;
  present = read_file(path, error);
  if (present || error == std::errc::no_such_file_or_directory) return true;
  report_failure(diagnostics, "read", path, error);
  return false;
}

// Moves the staged text of a file, and then its base, into place. The staged text is there for as long as the file has
// not been replaced: by that, a run that finishes this one knows which of the two the user's edits were made in.
bool take_write(const FileChange& change, const fs::path& pending, Carrying& carrying) {
  const fs::path target = carrying.folder / change.path;
  const fs::path staged = pending / files_name / change.path, staged_base = pending / bases_name / change.path;
  std::error_code error;
  if (fs::exists(staged, error)) {
    std::optional<std::string> present;
    if (!read_present(target, present, carrying.diagnostics)) return false;
    if (present && content_hash(*present) != change.before) {
      carrying.outcome.changed_since.insert(change.path);
      return true;
    }
    if (present && change.action == FileAction::keep_aside && !keep_aside(target, change.path, carrying)) return false;
    error = carrying.disk.move(staged, target);
  }
  if (!error && fs::exists(staged_base, error)) {
    error = carrying.disk.move(staged_base, base_folder(carrying.folder) / change.path);
  }
  if (error) report_failure(carrying.diagnostics, "write", target, error);
  return !error;
}

bool take_remove(const FileChange& change, Carrying& carrying) {
  const fs::path target = carrying.folder / change.path;
  std::optional<std::string> present;
  std::error_code error;
  if (fs::is_regular_file(target, error) && !read_present(target, present, carrying.diagnostics)) return false;
  if (present && content_hash(*present) != change.before) {
    carrying.outcome.changed_since.insert(change.path);
    return true;
  }
  const fs::path bases = base_folder(carrying.folder);
  error = present ? carrying.disk.remove(target, carrying.folder) : std::error_code();
  if (error) report_failure(carrying.diagnostics, "remove", target, error);
  if (!error) carrying.disk.remove(bases / change.path, bases);
  return !error;
}

// The pending manifest, in which what was left alone stands as before.
Manifest settled_manifest(const fs::path& pending, const Carrying& carrying) {
  std::error_code error;
  Manifest manifest = parse_manifest(read_file(pending / manifest_name, error).value_or(""));
  for (const std::string& path : carrying.outcome.changed_since) {
    const auto known = carrying.before.files.find(path);
    manifest.files.erase(path);
    if (known != carrying.before.files.end()) manifest.files.insert(*known);
  }
  return manifest;
}

// Every step can be taken again: the one that the last run was killed in, and those before it.
bool take_steps(Carrying& carrying) {
  const fs::path pending = pending_folder(carrying.folder);
  std::error_code error;
  for (const FileChange& change : parse_steps(read_file(pending / steps_name, error).value_or(""))) {
    const bool removes = change.action == FileAction::remove;
    if (!(removes ? take_remove(change, carrying) : take_write(change, pending, carrying))) return false;
  }
  const fs::path manifest = manifest_path(carrying.folder), settled = pending / "settled";
  const std::string text = manifest_text(settled_manifest(pending, carrying));
  error = carrying.disk.write(settled, text);
  if (!error) error = carrying.disk.move(settled, manifest);
  if (!error) carrying.disk.remove(carrying.folder / old_manifest_name, carrying.folder);
  if (!error) error = carrying.disk.move(pending, staging_folder(carrying.folder));
  if (!error) error = carrying.disk.remove_folder(staging_folder(carrying.folder));
  if (error) report_failure(carrying.diagnostics, "write", manifest, error);
  return !error;
}

}  // namespace

fs::path name_beside(const fs::path& path) {
  const std::string base = path.string() + ".edited";
  fs::path name = base;
  std::error_code error;
  for (int i = 2; fs::exists(fs::symlink_status(name, error)); ++i) name = fmt::format("{}.{}", base, i);
  return name;
}

Outcome carry_out(const Update& update, const fs::path& folder, const Disk& disk, Diagnostics& diagnostics) {
  const fs::path staging = staging_folder(folder);
  if (!stage(update, folder, disk, diagnostics)) {
    disk.remove_folder(staging);
    return {};
  }
  if (const std::error_code error = disk.move(staging, pending_folder(folder))) {
    report_failure(diagnostics, "write", pending_folder(folder), error);
    return {};
  }
  Carrying carrying{folder, disk, read_manifest(folder, diagnostics), {}, diagnostics};
  take_steps(carrying);
  return carrying.outcome;
}

void finish_pending_update(const fs::path& folder, const Disk& disk, Diagnostics& diagnostics) {
  std::error_code error;
  if (fs::exists(staging_folder(folder), error)) disk.remove_folder(staging_folder(folder));
  if (!fs::exists(pending_folder(folder), error)) return;
  Carrying carrying{folder, disk, read_manifest(folder, diagnostics), {}, diagnostics};
  if (!diagnostics.has_errors()) take_steps(carrying);
}

}  // namespace kgen
