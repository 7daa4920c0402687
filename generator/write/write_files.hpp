// Emitted files to disk. Nothing that a person wrote is ever lost: edits are merged with what is new. A file that stays
// the same keeps its time, a run that fails a check touches no file, and what a run that was killed has left undone the
// next one does first.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source_map.hpp"
#include "generator/model/plan.hpp"
#include "generator/write/manifest.hpp"

namespace kgen {

struct WriteOptions {
  std::filesystem::path folder;  // created where it does not exist
  std::set<std::string> pinned;  // relative paths: left as they are where they exist
  // For the manifest:
  std::string version;
  std::vector<EmissionInput> inputs;
  std::vector<std::string> include_directories;
  std::function<void()> before_change;  // see EmittedFolder
};

// How many files.
struct WriteReport {
  std::size_t written = 0;          // new or changed
  std::size_t unchanged = 0;        // held the text already
  std::size_t pinned = 0;           // left, as the graph says
  std::size_t edited = 0;           // left as the user has them, there being nothing new for them
  std::vector<std::string> merged;  // their paths: they hold the user's edits and what is new
  std::size_t conflicts = 0;        // hold git's markers, from this run or an earlier one: each is an error
  std::size_t kept_aside = 0;       // not kgen's: renamed to "<file>.edited" before the new one was written
  std::size_t removed = 0;          // of the last emission, no longer emitted and not edited
};

// Writes each file below options.folder, and the record (manifest.hpp). Where anything stands in the way, an error is
// reported and no file is touched; a conflict is an error too, but all the other files are written. `diagnostics` holds
// no error yet; it may point into `sources` then.
WriteReport write_files(const std::vector<SourceFile>& files, const WriteOptions& options, SourceMap& sources,
                        Diagnostics& diagnostics);

}  // namespace kgen
