#include "generator/write/write_files.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <utility>

#include "generator/write/decide.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/emitted_folder.hpp"
#include "generator/write/text_merge.hpp"
#include "generator/write/update.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

void validate_paths(const std::vector<SourceFile>& files, Diagnostics& diagnostics) {
  std::set<std::string_view> seen;
  for (const SourceFile& file : files) {
    if (!is_emitted_path(file.path)) {
      diagnostics.error({}, fmt::format("'{}' is not the path of a file below the output folder", file.path));
    } else if (!seen.insert(file.path).second) {
      diagnostics.error({}, fmt::format("two files would be called '{}'", file.path))
          .note("files are called after the graph and its values: one of them has the name of another file that kgen "
                "writes")
          .advise("give the graph, or the value, another name");
    }
  }
}

// What is wrong with a folder that cannot be opened or made.
void report_folder(const fs::path& path, const std::error_code& error, Diagnostics& diagnostics) {
  Diagnostic& diagnostic = report_failure(diagnostics, "create the folder", path, error);
  std::error_code unknown;
  if (!fs::is_symlink(path, unknown)) return;
  diagnostic.note(fmt::format("it is a link to '{}'", fs::read_symlink(path, unknown).string()));
  diagnostic.advise("create the folder that it leads to, or remove the link");
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
  Diagnostic& diagnostic =
      diagnostics.error({&text, lines.front(), 1}, is_new ? "your edit and what kgen now writes change the same lines"
                                                          : "a conflict of an earlier `kgen plan` is not resolved");
  if (lines.size() > 1) diagnostic.note(fmt::format("the file has {} such places", lines.size()));
  diagnostic.note("your lines stand above =======, kgen's below");
  diagnostic.advise("leave the lines that you want, remove the markers, and run `kgen plan` again");
}

// Recovers, decides, and does it. The folder is there, and this run alone works on it.
WriteReport update_folder(const std::vector<SourceFile>& files, const EmittedFolder& folder,
                          const WriteOptions& options, SourceMap& sources, Diagnostics& diagnostics) {
  finish_pending_update(folder, diagnostics);
  if (diagnostics.has_errors()) return {};
  const Manifest before = read_manifest(folder, diagnostics);
  if (diagnostics.has_errors()) return {};
  FolderDecision decision = decide(files, folder, options, before, diagnostics);
  if (diagnostics.has_errors()) return {};
  Outcome outcome;
  if (!decision.update.changes.empty() || decision.update.manifest != before) {
    outcome = carry_out(decision.update, folder, diagnostics);
    decision.report.kept_aside = outcome.kept_aside;
  }
  if (diagnostics.has_errors()) return decision.report;
  for (const std::string& path : outcome.changed_since) {
    diagnostics.error({}, fmt::format("'{}' changed while kgen was at work, and is left", folder.path(path).string()))
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
  validate_paths(files, diagnostics);
  if (diagnostics.has_errors()) return {};
  EmittedFolder folder(options.folder, options.before_change);
  if (const std::error_code error = folder.create()) report_folder(options.folder, error, diagnostics);
  WriteReport report;
  if (!diagnostics.has_errors()) {
    const FolderLock lock(folder);
    report = update_folder(files, folder, options, sources, diagnostics);
  }
  if (diagnostics.has_errors()) folder.remove_created();
  return report;
}

}  // namespace kgen
