#include "generator/write/decide.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/text_merge.hpp"

namespace kgen {
namespace {

// The folders that changes go to, or those above that exist, must be writable.
void validate_writable(const std::vector<FileChange>& changes, const EmittedFolder& folder, Diagnostics& diagnostics) {
  std::set<std::string> touched;
  for (const FileChange& change : changes) {
    if (touched.empty()) touched.insert("");  // the record is there
    const bool touches = change.content || change.action == FileAction::remove;
    std::string at = touches ? change.path : "";
    while (!at.empty() && folder.kind(at) != EntryKind::folder) at.erase(at.rfind('/') == at.npos ? 0 : at.rfind('/'));
    touched.insert(at);
  }
  for (const std::string& at : touched) {
    if (const std::error_code error = folder.validate_writable(at)) {
      report_failure(diagnostics, "write to", folder.path(at), error);
    }
  }
}

// The content of a file; none where there is no file. False, with an error reported, where it cannot be read.
bool read_existing(const EmittedFolder& folder, const std::string& path, std::optional<std::string>& content,
                   Diagnostics& diagnostics) {
  std::error_code error;
  const EntryKind kind = folder.kind(path, error);
  if (!error && kind != EntryKind::file) return true;
  content = folder.read(path, error);
  if (!content) report_failure(diagnostics, "read", folder.path(path), error);
  return content.has_value();
}

// A file that is to be kept aside needs a name that the file system allows.
void validate_name_beside(const EmittedFolder& folder, const std::string& path, Diagnostics& diagnostics) {
  const std::string beside = name_beside(folder, path);
  std::error_code error;
  folder.kind(beside, error);
  if (error) report_failure(diagnostics, "keep a file as", folder.path(beside), error);
}

// Decides on one folder, file by file.
class Decider {
 public:
  Decider(const EmittedFolder& folder, const WriteOptions& options, const Manifest& before, Diagnostics& diagnostics)
      : folder_(folder), options_(options), before_(before), diagnostics_(diagnostics) {}

  void emitted_file(const SourceFile& file);
  void orphan(const std::string& path, const EmittedFile& known);
  FolderDecision take();

 private:
  void edited_file(const SourceFile& file, const EmittedFile& known, const std::string& edited,
                   const std::string& base);
  void leave(Conflict conflict, const EmittedFile& known, bool has_news);
  void change(const SourceFile& file, FileAction action, const std::optional<std::string>& existing,
              std::optional<std::string_view> content);
  void keep(const std::string& path, EmittedFile file, Standing standing);

  const EmittedFolder& folder_;
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
                     std::optional<std::string_view> content) {
  std::optional<std::uint64_t> hash;
  if (existing) hash = content_hash(*existing);
  decision_.report.written += content.has_value();
  decision_.update.changes.push_back({file.path, action, hash, content, file.content});
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
    change(file, FileAction::write, edited, decision_.merged.emplace_back(std::move(merge->text)));
  }
}

void Decider::emitted_file(const SourceFile& file) {
  std::optional<std::string> existing;
  const bool is_pinned = options_.pinned.contains(file.path) && folder_.kind(file.path) != EntryKind::none;
  if (!is_pinned && !read_existing(folder_, file.path, existing, diagnostics_)) return;
  const auto found = before_.files.find(file.path);
  const EmittedFile* known = found == before_.files.end() ? nullptr : &found->second;
  if (is_pinned) {
    ++decision_.report.pinned;
    if (known) keep(file.path, *known, Standing::pinned);
    return;
  }
  const std::uint64_t hash = content_hash(file.content);
  decision_.update.manifest.files[file.path] = {hash, Standing::emitted, file.unformatted};
  if (existing == file.content) {
    ++decision_.report.unchanged;
    const bool based = known && known->hash == hash && folder_.kind(base_name(file.path)) == EntryKind::file;
    if (!based) change(file, FileAction::write, existing, std::nullopt);
    return;
  }
  if (!existing || (known && content_hash(*existing) == known->hash)) {
    change(file, FileAction::write, existing, file.content);
    return;
  }
  const auto base = known && file.merges ? read_base(folder_, file.path, known->hash) : std::nullopt;
  if (base) {
    edited_file(file, *known, *existing, *base);
  } else {
    validate_name_beside(folder_, file.path, diagnostics_);
    change(file, FileAction::keep_aside, existing, file.content);
  }
}

// A file of an earlier emission that is emitted no longer.
void Decider::orphan(const std::string& path, const EmittedFile& known) {
  std::optional<std::string> existing;
  const bool is_pinned = options_.pinned.contains(path) && folder_.kind(path) != EntryKind::none;
  if (!is_pinned && !read_existing(folder_, path, existing, diagnostics_)) return;
  const bool edited = existing && content_hash(*existing) != known.hash;
  if (is_pinned) {
    keep(path, known, Standing::pinned);
  } else if (edited) {
    keep(path, known, Standing::orphaned);
    diagnostics_
        .warning({},
                 fmt::format("'{}' is no longer emitted, and stays because it was edited", folder_.path(path).string()))
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
  validate_ways(decision_.update.changes, folder_, diagnostics_);
  validate_writable(decision_.update.changes, folder_, diagnostics_);
  decision_.report.conflicts = decision_.conflicts.size();
  return std::move(decision_);
}

}  // namespace

FolderDecision decide(const std::vector<SourceFile>& files, const EmittedFolder& folder, const WriteOptions& options,
                      const Manifest& before, Diagnostics& diagnostics) {
  Decider decider(folder, options, before, diagnostics);
  std::set<std::string_view> emitted;
  for (const SourceFile& file : files) emitted.insert(file.path);
  for (const auto& [path, known] : before.files) {
    if (!emitted.contains(path)) decider.orphan(path, known);
  }
  for (const SourceFile& file : files) decider.emitted_file(file);
  return decider.take();
}

}  // namespace kgen
