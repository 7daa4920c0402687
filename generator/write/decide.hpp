// What is to be done to an emitted folder, decided before anything is.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"
#include "generator/write/update.hpp"
#include "generator/write/write_files.hpp"

namespace kgen {

// A file in which the user's edits and what is new are for the user to bring together.
struct Conflict {
  enum class Kind {
    marked,       // written with git's markers
    unresolved,   // found with markers, and left
    unmergeable,  // no text that can be merged, and left
  };
  Kind kind = Kind::marked;
  std::string path;
  std::string text;  // of the file, as it is then
};

struct FolderDecision {
  Update update;
  std::deque<std::string> merged;  // what the update writes of texts that hold edits
  std::vector<Conflict> conflicts;
  WriteReport report;  // if all of it comes to pass
};

// For each emitted file, and each that was emitted before. The files outlive the decision. The paths are relative, safe, and differ from one another.
// Errors: what stands in the way of an update.
FolderDecision decide(const std::vector<SourceFile>& files, const EmittedFolder& folder, const WriteOptions& options,
                      const Manifest& before, Diagnostics& diagnostics);

}  // namespace kgen
