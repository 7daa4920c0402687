#include "generator/write/write_files.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <utility>

#include "generator/write/decide.hpp"
#include "generator/write/text_merge.hpp"
#include "generator/write/update.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

void check_paths(const std::vector<SourceFile>& files, Diagnostics& diagnostics) {
  std::set<std::string_view> seen;
  for (const SourceFile& file : files) {
    if (!is_emitted_path(file.path)) {
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

void report_conflict(Conflict&& conflict, const fs::path& folder, SourceMap& sources, Diagnostics& diagnostics) {
  const std::string path = (folder / conflict.path).string();
  if (conflict.kind == Conflict::Kind::unmergeable) {
    diagnostics.error({}, fmt::format("cannot merge what is new into '{}': your file is no text", path))
        .advise("remove what is no text from it, or the file itself, and run `kgen plan` again");
    return;
  }
  const std::vector<std::uint32_t> lines = conflict_lines(conflict.text);
  const SourceText& text = sources.add(path, std::move(conflict.text));
  const bool is_new = conflict.kind == Conflict::Kind::marked;
  Diagnostic& diagnostic = diagnostics.error(
      {&text, lines.front(), 1}, is_new ? "your edit and what kgen now writes change the same lines"
                                        : "a conflict of an earlier `kgen plan` is not resolved");
  if (lines.size() > 1) diagnostic.note(fmt::format("the file has {} such places", lines.size()));
  diagnostic.note("your lines stand above =======, kgen's below");
  diagnostic.advise("leave the lines that you want, remove the markers, and run `kgen plan` again");
}

// Recovers, decides, and does it. The folder is there, and this run alone works on it.
WriteReport update_folder(const std::vector<SourceFile>& files, const WriteOptions& options, SourceMap& sources,
                          Diagnostics& diagnostics) {
  finish_pending_update(options.folder, options.disk, diagnostics);
  const Manifest before = read_manifest(options.folder, diagnostics);
  if (diagnostics.has_errors()) return {};
  FolderDecision decision = decide(files, options, before, diagnostics);
  if (diagnostics.has_errors()) return {};
  Outcome outcome;
  if (!decision.update.changes.empty() || decision.update.manifest != before) {
    outcome = carry_out(decision.update, options.folder, options.disk, diagnostics);
    decision.report.kept_aside = outcome.kept_aside;
  }
  if (diagnostics.has_errors()) return decision.report;
  for (const std::string& path : outcome.changed_since) {
    diagnostics
        .error({}, fmt::format("'{}' changed while kgen was at work, and is left", (options.folder / path).string()))
        .advise("run `kgen plan` again");
  }
  for (Conflict& conflict : decision.conflicts) {
    if (outcome.changed_since.contains(conflict.path)) continue;
    report_conflict(std::move(conflict), options.folder, sources, diagnostics);
  }
  return decision.report;
}

}  // namespace

WriteReport write_files(const std::vector<SourceFile>& files, const WriteOptions& options, SourceMap& sources,
                        Diagnostics& diagnostics) {
  check_paths(files, diagnostics);
  if (diagnostics.has_errors()) return {};
  fs::path missing;
  if (const std::error_code error = create_folders(options.folder, missing)) {
    report_failure(diagnostics, "create the folder", options.folder, error);
  }
  WriteReport report;
  if (!diagnostics.has_errors()) {
    const FolderLock lock(options.folder);
    report = update_folder(files, options, sources, diagnostics);
  }
  std::error_code ignored;
  if (diagnostics.has_errors() && !missing.empty()) fs::remove_all(missing, ignored);
  return report;
}

}  // namespace kgen
