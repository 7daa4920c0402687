#include "generator/write/write_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/manifest.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view staging_name = ".kgen-staging";  // new contents, until all of them are complete

// A file that the user has edited, and where it is kept.
struct Edited {
  std::string path;
  fs::path kept;
};

// What is to be done to the folder, decided before anything is.
struct Changes {
  std::vector<const SourceFile*> write;
  std::vector<Edited> set_aside;  // of those
  std::vector<std::string> remove;
  Manifest before, after;
  WriteReport report;
};

void report_failure(Diagnostics& diagnostics, std::string_view what, const fs::path& path,
                    const std::error_code& error) {
  diagnostics.error({}, fmt::format("cannot {} '{}': {}", what, path.string(), error.message()));
}

// Below the folder, and none of kgen's own records.
bool is_safe(const std::string& path) {
  const fs::path relative(path);
  const bool one_line = path.find('\n') == path.npos;  // as the manifest holds it
  if (path.empty() || !one_line || relative.is_absolute()) return false;
  if (relative.lexically_normal().string() != path) return false;
  const std::string first = relative.begin()->string();
  return first != ".." && first != "." && first != manifest_name && first != staging_name && relative.has_filename();
}

void check_paths(const std::vector<SourceFile>& files, Diagnostics& diagnostics) {
  std::set<std::string_view> seen;
  for (const SourceFile& file : files) {
    if (!is_safe(file.path)) {
      diagnostics.error({}, fmt::format("'{}' is not the path of a file below the output folder", file.path));
    } else if (!seen.insert(file.path).second) {
      diagnostics.error({}, fmt::format("'{}' would be written twice", file.path));
    }
  }
}

// Creates the folder and those above it. `missing` becomes the first that was not there, so that a failed run can take
// them away again.
std::error_code create_folders(const fs::path& folder, fs::path& missing) {
  std::error_code error;
  for (fs::path at = fs::absolute(folder, error); !error && !fs::exists(at, error); at = at.parent_path()) missing = at;
  if (!error) fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder, error)) error = std::make_error_code(std::errc::not_a_directory);
  return error;
}

// What stands between the output folder and its files must be folders, those that exist must be writable.
void check_parents(const fs::path& folder, const std::set<fs::path>& parents, Diagnostics& diagnostics) {
  for (const fs::path& parent : parents) {
    fs::path at = parent.empty() ? folder : folder / parent;
    std::error_code error;
    while (!fs::exists(at, error) && at != folder) at = at.parent_path();
    if (!fs::is_directory(at, error)) {
      diagnostics.error({}, fmt::format("'{}' is in the way: a folder is needed there", at.string()))
          .advise("move it, or choose another output folder");
    } else if (::access(at.c_str(), W_OK | X_OK) != 0) {
      report_failure(diagnostics, "write to", at, {errno, std::generic_category()});
    }
  }
}

// The content that a path holds: none where there is no file. False, with an error reported, where something else is.
bool read_existing(const fs::path& path, std::optional<std::string>& content, Diagnostics& diagnostics) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::not_found || error == std::errc::not_a_directory) return true;
  if (type != fs::file_type::none && !fs::is_regular_file(path, error)) {
    diagnostics.error({}, fmt::format("cannot write '{}': what is there is not a file", path.string()))
        .advise("move it, or choose another output folder");
    return false;
  }
  content = read_file(path, error);
  if (!content) report_failure(diagnostics, "read", path, error);
  return content.has_value();
}

// "<path>.edited", or with the first number that is free.
fs::path free_name_beside(const fs::path& path, std::error_code& error) {
  const std::string base = path.string() + ".edited";
  fs::path name = base;
  for (int i = 2; fs::exists(fs::symlink_status(name, error)); ++i) name = fmt::format("{}.{}", base, i);
  if (error == std::errc::no_such_file_or_directory) error.clear();  // as it should be
  return name;
}

void decide_file(const SourceFile& file, const WriteOptions& options, Changes& changes, Diagnostics& diagnostics) {
  std::optional<std::string> existing;
  if (!read_existing(options.folder / file.path, existing, diagnostics)) return;
  if (existing && options.pinned.contains(file.path)) {
    ++changes.report.pinned;
    const auto known = changes.before.find(file.path);
    if (known != changes.before.end()) changes.after.insert(*known);
    return;
  }
  changes.after[file.path] = {content_hash(file.content)};
  if (existing == file.content) {
    ++changes.report.unchanged;
    return;
  }
  if (existing && !wrote(changes.before, file.path, *existing)) {
    std::error_code error;
    changes.set_aside.push_back({file.path, free_name_beside(options.folder / file.path, error)});
    if (error) report_failure(diagnostics, "keep an edited file as", changes.set_aside.back().kept, error);
  }
  changes.write.push_back(&file);
}

// A file of the last emission that is emitted no longer.
void decide_orphan(const std::string& path, const WriteOptions& options, Changes& changes, Diagnostics& diagnostics) {
  const fs::path full = options.folder / path;
  std::error_code error;
  if (!is_safe(path) || !fs::is_regular_file(full, error)) return;
  if (options.pinned.contains(path)) {
    changes.after.insert(*changes.before.find(path));
    return;
  }
  const std::optional<std::string> existing = read_file(full, error);
  if (existing && wrote(changes.before, path, *existing)) {
    changes.remove.push_back(path);
    return;
  }
  diagnostics.warning({}, fmt::format("'{}' is no longer emitted, and stays because it was edited", full.string()))
      .advise("remove it when you need it no more");
}

Changes decide(const std::vector<SourceFile>& files, const WriteOptions& options, Diagnostics& diagnostics) {
  Changes changes;
  std::optional<std::string> manifest;
  if (!read_existing(options.folder / manifest_name, manifest, diagnostics)) return changes;
  changes.before = parse_manifest(manifest.value_or(""));
  std::set<std::string_view> emitted;
  for (const SourceFile& file : files) {
    emitted.insert(file.path);
    decide_file(file, options, changes, diagnostics);
  }
  for (const auto& [path, hashes] : changes.before) {
    if (!emitted.contains(path)) decide_orphan(path, options, changes, diagnostics);
  }
  std::set<fs::path> parents;
  for (const SourceFile* file : changes.write) parents.insert(fs::path(file->path).parent_path());
  for (const std::string& path : changes.remove) parents.insert(fs::path(path).parent_path());
  check_parents(options.folder, parents, diagnostics);
  return changes;
}

// Writes every new content below the staging folder. What fails for lack of space or of rights fails here.
bool stage(const Changes& changes, const fs::path& folder, const fs::path& staging, Diagnostics& diagnostics) {
  for (const SourceFile* file : changes.write) {
    const fs::path path = staging / file->path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (!error) error = write_file(path, file->content);
    if (error) {
      report_failure(diagnostics, "write", folder / file->path, error);
      return false;
    }
  }
  return true;
}

bool set_aside(const Edited& edited, const WriteOptions& options, Changes& changes, Diagnostics& diagnostics) {
  const fs::path path = options.folder / edited.path;
  std::error_code error;
  fs::rename(path, edited.kept, error);
  if (error) {
    report_failure(diagnostics, "move", path, error);
    return false;
  }
  ++changes.report.set_aside;
  const bool known = changes.before.contains(edited.path);
  diagnostics
      .warning({},
               fmt::format("'{}' {}, and is kept as '{}'", path.string(),
                           known ? "was edited since kgen wrote it" : "was not written by kgen", edited.kept.string()))
      .advise("carry over what you need, or pin the stub to keep your own: `fusion: {pin: [...]}`");
  return true;
}

void remove_orphan(const std::string& path, const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / path, error);
  for (fs::path at = fs::path(path).parent_path(); !at.empty() && !error; at = at.parent_path()) {
    fs::remove(folder / at, error);  // fails, as it should, where the folder still holds something
  }
}

bool move_into_place(const std::string& path, const fs::path& staging, const fs::path& folder,
                     Diagnostics& diagnostics) {
  std::error_code error;
  fs::create_directories((folder / path).parent_path(), error);
  if (!error) fs::rename(staging / path, folder / path, error);
  if (error) report_failure(diagnostics, "write", folder / path, error);
  return !error;
}

// Every step is a rename or a removal. The manifest knows the old and the new contents while they are under way, so
// that the run after one that was killed takes neither for an edit.
bool commit(Changes& changes, const WriteOptions& options, const fs::path& staging, Diagnostics& diagnostics) {
  Manifest under_way = changes.before;
  for (const auto& [path, hashes] : changes.after) under_way[path].insert(hashes.begin(), hashes.end());
  const fs::path manifest = options.folder / manifest_name;
  if (!replace_file(manifest, manifest_text(under_way), diagnostics)) return false;

  for (const Edited& edited : changes.set_aside) {
    if (!set_aside(edited, options, changes, diagnostics)) return false;
  }
  for (const SourceFile* file : changes.write) {
    if (!move_into_place(file->path, staging, options.folder, diagnostics)) return false;
    ++changes.report.written;
  }
  for (const std::string& path : changes.remove) remove_orphan(path, options.folder);
  changes.report.removed = changes.remove.size();
  return replace_file(manifest, manifest_text(changes.after), diagnostics);
}

}  // namespace

WriteReport write_files(const std::vector<SourceFile>& files, const WriteOptions& options, Diagnostics& diagnostics) {
  check_paths(files, diagnostics);
  if (diagnostics.has_errors()) return {};

  fs::path missing;
  std::error_code error = create_folders(options.folder, missing);
  if (error) report_failure(diagnostics, "create the folder", options.folder, error);
  Changes changes;
  if (!diagnostics.has_errors()) {
    const FolderLock lock(options.folder);
    const fs::path staging = options.folder / staging_name;
    fs::remove_all(staging, error);  // of a run that was killed
    changes = decide(files, options, diagnostics);
    if (!diagnostics.has_errors() && stage(changes, options.folder, staging, diagnostics)) {
      commit(changes, options, staging, diagnostics);
    }
    fs::remove_all(staging, error);
  }
  if (diagnostics.has_errors() && !missing.empty()) fs::remove_all(missing, error);
  return changes.report;
}

}  // namespace kgen
