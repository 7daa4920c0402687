// Emitted files to disk. Nothing that a person wrote is ever lost, a file that stays the same keeps its time, and a run
// that fails a check, or is killed, leaves no half of a file behind.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

struct WriteOptions {
  std::filesystem::path folder;  // created where it does not exist
  std::set<std::string> pinned;  // relative paths: left as they are where they exist
};

// How many files.
struct WriteReport {
  std::size_t written = 0;    // new or changed
  std::size_t unchanged = 0;  // held the content already
  std::size_t pinned = 0;     // left as the user has them
  std::size_t set_aside = 0;  // edited by the user: moved to "<file>.edited" before the new one was written
  std::size_t removed = 0;    // of the last emission, no longer emitted and not edited
};

// Writes each file below options.folder, and the manifest. Where anything stands in the way, an error is reported and
// no file is touched. `diagnostics` holds no error yet.
WriteReport write_files(const std::vector<SourceFile>& files, const WriteOptions& options, Diagnostics& diagnostics);

}  // namespace kgen
