#include "generator/write/decide.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "generator/base/hash.hpp"
#include "generator/write/text_merge.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

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

// A file that is to be kept aside needs a name that the file system allows.
void check_name_beside(const fs::path& path, Diagnostics& diagnostics) {
  const fs::path beside = name_beside(path);
  std::error_code error;
  const bool is_free = !fs::exists(fs::symlink_status(beside, error));
  if (is_free && error && error != std::errc::no_such_file_or_directory) {
    report_failure(diagnostics, "keep a file as", beside, error);
  }
}

// Decides on one folder, file by file.
class Decider {
 public:
  Decider(const WriteOptions& options, const Manifest& before, Diagnostics& diagnostics)
      : options_(options), before_(before), diagnostics_(diagnostics) {}

  void emitted_file(const SourceFile& file);
  void orphan(const std::string& path, const EmittedFile& known);
  FolderDecision take();

 private:
  void edited_file(const SourceFile& file, const EmittedFile& known, const std::string& edited,
                   const std::string& base);
  void leave(Conflict conflict, const EmittedFile& known, bool has_news);
  void change(const SourceFile& file, FileAction action, const std::optional<std::string>& existing,
              std::optional<std::string> content);
  void keep(const std::string& path, EmittedFile file, Standing standing);

  const WriteOptions& options_;
  const Manifest& before_;
  FolderDecision decision_;
  bool waiting_ = false;  // there is something new for a file that is left
  Diagnostics& diagnostics_;
};

// The record of a file stays as it was, and its base too.
void Decider::keep(const std::string& path, EmittedFile file, Standing standing) {
  file.standing = standing;
  decision_.update.manifest.files[path] = file;
}

// The emitted text becomes the base; `content`, if any, the file.
void Decider::change(const SourceFile& file, FileAction action, const std::optional<std::string>& existing,
                     std::optional<std::string> content) {
  std::optional<std::uint64_t> hash;
  if (existing) hash = content_hash(*existing);
  decision_.report.written += content.has_value();
  decision_.update.changes.push_back({file.path, action, hash, std::move(content), file.content});
}

// The file stays as it is, and so does what it was edited from.
void Decider::leave(Conflict conflict, const EmittedFile& known, bool has_news) {
  keep(conflict.path, known, Standing::emitted);
  waiting_ = waiting_ || has_news;
  decision_.conflicts.push_back(std::move(conflict));
}

void Decider::edited_file(const SourceFile& file, const EmittedFile& known, const std::string& edited,
                          const std::string& base) {
  const bool has_news = base != file.content;
  if (!conflict_lines(edited).empty()) {
    leave({Conflict::Kind::unresolved, file.path, edited}, known, has_news);
    return;
  }
  if (!has_news) {
    ++decision_.report.edited;
    return;
  }
  std::optional<Merge> merge = merge_texts(base, edited, file.content);
  if (!merge) {
    leave({Conflict::Kind::unmergeable, file.path, edited}, known, has_news);
    return;
  }
  if (!merge->clean) decision_.conflicts.push_back({Conflict::Kind::marked, file.path, merge->text});
  if (merge->text == edited) {
    ++decision_.report.edited;
    change(file, FileAction::write, edited, std::nullopt);
  } else {
    if (merge->clean) decision_.report.merged.push_back(file.path);
    change(file, FileAction::write, edited, std::move(merge->text));
  }
}

void Decider::emitted_file(const SourceFile& file) {
  std::optional<std::string> existing;
  if (!read_existing(options_.folder / file.path, existing, diagnostics_)) return;
  const auto found = before_.files.find(file.path);
  const EmittedFile* known = found == before_.files.end() ? nullptr : &found->second;
  if (existing && options_.pinned.contains(file.path)) {
    ++decision_.report.pinned;
    if (known) keep(file.path, *known, Standing::pinned);
    return;
  }
  const std::uint64_t hash = content_hash(file.content);
  decision_.update.manifest.files[file.path] = {hash, Standing::emitted, file.unformatted};
  if (existing == file.content) {
    ++decision_.report.unchanged;
    std::error_code error;
    const bool based = known && known->hash == hash && fs::exists(base_folder(options_.folder) / file.path, error);
    if (!based) change(file, FileAction::write, existing, std::nullopt);
    return;
  }
  if (!existing || (known && content_hash(*existing) == known->hash)) {
    change(file, FileAction::write, existing, file.content);
    return;
  }
  const auto base = known && file.merges ? read_base(options_.folder, file.path, known->hash) : std::nullopt;
  if (base) {
    edited_file(file, *known, *existing, *base);
  } else {
    check_name_beside(options_.folder / file.path, diagnostics_);
    change(file, FileAction::keep_aside, existing, file.content);
  }
}

// A file of an earlier emission that is emitted no longer.
void Decider::orphan(const std::string& path, const EmittedFile& known) {
  const fs::path full = options_.folder / path;
  std::error_code error;
  std::optional<std::string> existing;
  if (fs::is_regular_file(full, error) && !read_existing(full, existing, diagnostics_)) return;
  const bool edited = existing && content_hash(*existing) != known.hash;
  if (existing && options_.pinned.contains(path)) {
    keep(path, known, Standing::pinned);
  } else if (edited) {
    keep(path, known, Standing::orphaned);
    diagnostics_.warning({}, fmt::format("'{}' is no longer emitted, and stays because it was edited", full.string()))
        .advise("remove it when you need it no more");
  } else {
    decision_.report.removed += existing.has_value();
    decision_.update.changes.push_back({path, FileAction::remove, known.hash, {}, {}});
  }
}

FolderDecision Decider::take() {
  Manifest& manifest = decision_.update.manifest;
  manifest.version = waiting_ ? before_.version : options_.version;
  manifest.inputs = waiting_ ? before_.inputs : options_.inputs;
  manifest.include_directories = options_.include_directories;
  std::set<fs::path> parents;
  for (const FileChange& change : decision_.update.changes) {
    if (change.content || change.action == FileAction::remove) parents.insert(fs::path(change.path).parent_path());
  }
  if (!decision_.update.changes.empty()) parents.insert(fs::path());  // the record is there
  check_parents(options_.folder, parents, diagnostics_);
  decision_.report.conflicts = decision_.conflicts.size();
  return std::move(decision_);
}

}  // namespace

FolderDecision decide(const std::vector<SourceFile>& files, const WriteOptions& options, const Manifest& before,
                Diagnostics& diagnostics) {
  Decider decider(options, before, diagnostics);
  std::set<std::string_view> emitted;
  for (const SourceFile& file : files) emitted.insert(file.path);
  for (const auto& [path, known] : before.files) {
    if (!emitted.contains(path)) decider.orphan(path, known);
  }
  for (const SourceFile& file : files) decider.emitted_file(file);
  return decider.take();
}

}  // namespace kgen
