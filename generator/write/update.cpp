#include "generator/write/update.hpp"

#include <fmt/format.h>

#include <future>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/record.hpp"

namespace kgen {
namespace {

constexpr std::string_view staging_name = ".kgen/staging";
constexpr std::string_view pending_name = ".kgen/pending";

// Within staging and pending:
constexpr std::string_view steps_name = "steps";            // a line for each change
constexpr std::string_view texts_name = "files";            // new texts
constexpr std::string_view new_bases_name = "base";         // new bases
constexpr std::string_view new_manifest_name = "manifest";  // as it is if every step is taken
constexpr std::string_view settled_name = "settled";        // as it is with the steps that were taken

constexpr std::pair<FileAction, std::string_view> action_words[] = {
    {FileAction::write, "write"}, {FileAction::keep_aside, "keep_aside"}, {FileAction::remove, "remove"}};

std::string joined(std::string_view folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

std::string pending(std::string_view name) { return joined(pending_name, name); }
std::string pending_text(std::string_view path) { return pending(joined(texts_name, path)); }
std::string pending_base(std::string_view path) { return pending(joined(new_bases_name, path)); }

std::string steps_text(const std::vector<FileChange>& changes) {
  std::string text;
  for (const FileChange& change : changes) {
    for (const auto& [action, word] : action_words) {
      if (action == change.action) text += record_text({std::string(word), {}, change.before, change.path});
    }
  }
  return text;
}

// What is to lie in the staging folder under `name`, and which file it is for.
struct StagedFile {
  std::string name;
  std::string_view content;
  std::string_view shown;
};

// The first that cannot be written, and why.
using StagingFailure = std::optional<std::pair<std::string_view, std::error_code>>;

StagingFailure write_staged(const std::vector<StagedFile>& files, const EmittedFolder& folder) {
  for (const StagedFile& file : files) {
    if (const std::error_code error = folder.write(joined(staging_name, file.name), file.content)) {
      return std::pair(file.shown, error);
    }
  }
  return std::nullopt;
}

// Writes all that the update needs aside: texts, and beside them, where they are long, bases. What fails for lack of
// space or of rights fails here.
bool stage(const Update& update, const EmittedFolder& folder, Diagnostics& diagnostics) {
  constexpr std::size_t many_bytes = 1 << 20;
  const std::string steps = steps_text(update.changes), manifest = manifest_text(update.manifest);
  std::vector<StagedFile> texts, bases;
  std::size_t bytes = 0;
  for (const FileChange& change : update.changes) {
    if (change.action == FileAction::remove) continue;
    if (change.content) texts.push_back({joined(texts_name, change.path), *change.content, change.path});
    bases.push_back({joined(new_bases_name, change.path), change.base, change.path});
    bytes += change.base.size();
  }
  texts.push_back({std::string(steps_name), steps, manifest_name});
  texts.push_back({std::string(new_manifest_name), manifest, manifest_name});
  const auto how = bytes < many_bytes ? std::launch::deferred : std::launch::async;
  std::future<StagingFailure> beside = std::async(how, [&] { return write_staged(bases, folder); });
  StagingFailure failure = write_staged(texts, folder);
  const StagingFailure other = beside.get();
  if (!failure) failure = other;
  if (failure) report_failure(diagnostics, "write", folder.path(failure->first), failure->second);
  return !failure;
}

// A pending update on its way to the folder.
struct Carrying {
  const EmittedFolder& folder;
  const std::vector<FileChange>& changes;  // their texts are in the folder
  Manifest before;                         // the manifest is the last thing to be replaced
  Manifest after;
  Outcome outcome;
  Diagnostics& diagnostics;
};

bool keep_aside(const std::string& path, Carrying& carrying) {
  const EmittedFolder& folder = carrying.folder;
  const std::string kept = name_beside(folder, path);
  if (const std::error_code error = folder.move(path, kept)) {
    report_failure(carrying.diagnostics, "keep a file as", folder.path(kept), error);
    return false;
  }
  ++carrying.outcome.kept_aside;
  const auto known = carrying.before.files.find(path);
  std::string_view why = "was not written by kgen";
  if (known != carrying.before.files.end()) {
    const bool has_base = read_base(folder, path, known->second.hash).has_value();
    why = has_base ? "was edited, and kgen writes it anew each time" : "was edited, but what it was made from is lost";
  }
  carrying.diagnostics
      .warning({},
               fmt::format("'{}' {}: it is kept as '{}'", folder.path(path).string(), why, folder.path(kept).string()))
      .advise("carry over what you need from it, then remove it");
  return true;
}

// What stands at the path now; nothing where no file does. False, with an error reported, where it cannot be read.
bool read_present(const std::string& path, std::optional<std::string>& present, Carrying& carrying) {
  std::error_code error;
  if (carrying.folder.kind(path) != EntryKind::file) return true;
  present = carrying.folder.read(path, error);
  if (!present) report_failure(carrying.diagnostics, "read", carrying.folder.path(path), error);
  return present.has_value();
}

// Moves the staged text of a file, and then its base, into place. The staged text is there for as long as the file has
// not been replaced: by that, a run that finishes this one knows which of the two the user's edits were made in.
bool take_write(const FileChange& change, Carrying& carrying) {
  const EmittedFolder& folder = carrying.folder;
  const std::string text = pending_text(change.path), base = pending_base(change.path);
  std::error_code error;
  if (folder.kind(text) == EntryKind::file) {
    std::optional<std::string> present;
    if (!read_present(change.path, present, carrying)) return false;
    if (present && content_hash(*present) != change.before) {
      carrying.outcome.changed_since.insert(change.path);
      return true;
    }
    if (present && change.action == FileAction::write) error = folder.copy_permissions(change.path, text);
    if (present && change.action == FileAction::keep_aside && !keep_aside(change.path, carrying)) return false;
    if (!error) error = folder.move(text, change.path);
  }
  if (!error && folder.kind(base) == EntryKind::file) error = folder.move(base, base_name(change.path));
  if (error) report_failure(carrying.diagnostics, "write", folder.path(change.path), error);
  return !error;
}

bool take_remove(const FileChange& change, Carrying& carrying) {
  std::optional<std::string> present;
  if (!read_present(change.path, present, carrying)) return false;
  if (present && content_hash(*present) != change.before) {
    carrying.outcome.changed_since.insert(change.path);
    return true;
  }
  const EmittedFolder& folder = carrying.folder;
  const std::error_code error = present ? folder.remove(change.path) : std::error_code();
  if (error) report_failure(carrying.diagnostics, "remove", folder.path(change.path), error);
  if (!error) folder.remove(base_name(change.path), bases_name);
  return !error;
}

// The pending manifest, in which what was left alone stands as before.
Manifest settled_manifest(const Carrying& carrying) {
  Manifest manifest = carrying.after;
  for (const std::string& path : carrying.outcome.changed_since) {
    const auto known = carrying.before.files.find(path);
    manifest.files.erase(path);
    if (known != carrying.before.files.end()) manifest.files.insert(*known);
  }
  return manifest;
}

// Every step can be taken again: the one that the last run was killed in, and those before it.
bool take_steps(Carrying& carrying) {
  for (const FileChange& change : carrying.changes) {
    const bool removes = change.action == FileAction::remove;
    if (!(removes ? take_remove(change, carrying) : take_write(change, carrying))) return false;
  }
  const EmittedFolder& folder = carrying.folder;
  std::error_code error = folder.write(pending(settled_name), manifest_text(settled_manifest(carrying)));
  if (!error) error = folder.move(pending(settled_name), manifest_name);
  if (!error) folder.remove(old_manifest_name);
  if (!error) error = folder.move(pending_name, staging_name);
  if (!error) error = folder.remove_folder(staging_name);
  if (error) report_failure(carrying.diagnostics, "write", folder.path(manifest_name), error);
  return !error;
}

// What the user can do where a pending update is none that kgen left.
void advise_on_pending(Diagnostic& diagnostic, const EmittedFolder& folder) {
  diagnostic.note("it is part of what a `kgen plan` that was stopped left to be finished; nothing was touched");
  diagnostic.advise(fmt::format("remove '{}', and run `kgen plan` again", folder.path(pending_name).string()));
}

// A file of the pending update; nothing after an error.
std::optional<std::string> read_pending(std::string_view name, const EmittedFolder& folder, Diagnostics& diagnostics) {
  std::error_code error;
  std::optional<std::string> text = folder.read(pending(name), error);
  if (!text) advise_on_pending(report_failure(diagnostics, "read", folder.path(pending(name)), error), folder);
  return text;
}

std::vector<FileChange> read_steps(const EmittedFolder& folder, Diagnostics& diagnostics) {
  std::vector<FileChange> changes;
  const std::optional<std::string> text = read_pending(steps_name, folder, diagnostics);
  for (const RecordLine& line : parse_record(text.value_or(""))) {
    const std::size_t before = changes.size();
    for (const auto& [action, word] : action_words) {
      if (line.kind == word && is_emitted_path(line.path)) changes.push_back({line.path, action, line.hash, {}, {}});
    }
    if (changes.size() > before) continue;
    advise_on_pending(report_damage(folder.path(pending(steps_name)), line, diagnostics), folder);
    return {};
  }
  return changes;
}

// What lies in a pending update must be files, and where they go must be free for them.
void validate_pending(const std::vector<FileChange>& changes, const EmittedFolder& folder, Diagnostics& diagnostics) {
  for (const FileChange& change : changes) {
    for (const std::string& name : {pending_text(change.path), pending_base(change.path)}) {
      const std::string obstacle = folder.obstacle(name);
      const std::string& odd = obstacle.empty() ? name : obstacle;
      const EntryKind kind = folder.kind(odd);
      if (obstacle.empty() && (kind == EntryKind::none || kind == EntryKind::file)) continue;
      advise_on_pending(diagnostics.error({}, fmt::format("'{}' is {}", folder.path(odd).string(), kind_text(kind))),
                        folder);
      return;
    }
  }
  validate_ways(changes, folder, diagnostics);
}

// Reports what is on the way to a file and no folder; each such thing once.
void validate_way(const std::string& name, const EmittedFolder& folder, std::set<std::string>& reported,
                  Diagnostics& diagnostics) {
  const std::string obstacle = folder.obstacle(name);
  if (obstacle.empty() || !reported.insert(obstacle).second) return;
  const std::string shown = folder.path(obstacle).string();
  if (folder.kind(obstacle) == EntryKind::link) {
    diagnostics.error({}, fmt::format("'{}' is a link: kgen writes to no place outside of its folder", shown))
        .advise("put a folder there, or give --emit the place where the link leads");
  } else {
    diagnostics.error({}, fmt::format("'{}' is in the way: a folder is needed there", shown))
        .advise("move it, or choose another output folder");
  }
}

// Reports what is at the place of a file and none.
void validate_place(const std::string& name, const EmittedFolder& folder, Diagnostics& diagnostics) {
  const EntryKind kind = folder.kind(name);
  if (kind == EntryKind::none || kind == EntryKind::file) return;
  Diagnostic& diagnostic =
      diagnostics.error({}, fmt::format("cannot write '{}': what is there is not a file", folder.path(name).string()));
  if (kind == EntryKind::link) diagnostic.note("it is a link: kgen neither follows nor replaces one");
  diagnostic.advise("move it, or choose another output folder");
}

}  // namespace

std::string name_beside(const EmittedFolder& folder, const std::string& path) {
  const std::string base = path + ".edited";
  std::string name = base;
  for (int i = 2; folder.kind(name) != EntryKind::none; ++i) name = fmt::format("{}.{}", base, i);
  return name;
}

void validate_ways(const std::vector<FileChange>& changes, const EmittedFolder& folder, Diagnostics& diagnostics) {
  std::set<std::string> reported;
  for (const FileChange& change : changes) {
    validate_way(change.path, folder, reported, diagnostics);
    validate_way(base_name(change.path), folder, reported, diagnostics);
    if (change.action == FileAction::remove) continue;  // only a file is removed
    validate_place(change.path, folder, diagnostics);
    validate_place(base_name(change.path), folder, diagnostics);
  }
}

Outcome carry_out(const Update& update, const EmittedFolder& folder, Diagnostics& diagnostics) {
  if (!stage(update, folder, diagnostics)) {
    folder.remove_folder(staging_name);
    return {};
  }
  if (const std::error_code error = folder.move(staging_name, pending_name)) {
    report_failure(diagnostics, "write", folder.path(pending_name), error);
    return {};
  }
  Carrying carrying{folder, update.changes, read_manifest(folder, diagnostics), update.manifest, {}, diagnostics};
  take_steps(carrying);
  return carrying.outcome;
}

bool is_update_pending(const EmittedFolder& folder) { return folder.kind(pending_name) != EntryKind::none; }

void finish_pending_update(const EmittedFolder& folder, Diagnostics& diagnostics) {
  Manifest before = read_manifest(folder, diagnostics);
  if (diagnostics.has_errors()) return;
  if (folder.kind(staging_name) != EntryKind::none) folder.remove_folder(staging_name);
  if (!is_update_pending(folder)) return;
  const std::vector<FileChange> changes = read_steps(folder, diagnostics);
  if (diagnostics.has_errors()) return;
  validate_pending(changes, folder, diagnostics);
  const std::optional<std::string> manifest = read_pending(new_manifest_name, folder, diagnostics);
  if (diagnostics.has_errors()) return;
  Manifest after = parse_manifest(*manifest, folder.path(pending(new_manifest_name)), diagnostics);
  if (diagnostics.has_errors()) return;
  Carrying carrying{folder, changes, std::move(before), std::move(after), {}, diagnostics};
  take_steps(carrying);
}

}  // namespace kgen
