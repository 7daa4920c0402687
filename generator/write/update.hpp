// An update of an emitted folder: prepared aside, then carried out so that whoever is killed in the middle of it leaves
// everything that the next run needs to finish it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/write/emitted_folder.hpp"
#include "generator/write/manifest.hpp"

namespace kgen {

enum class FileAction {
  write,       // a new text, over one that kgen wrote or merged with
  keep_aside,  // the same, after what is there, which is not kgen's, has been renamed
  remove,      // the file and its base
};

struct FileChange {
  std::string path;
  FileAction action = FileAction::write;
  std::optional<std::uint64_t> before;  // hash of what is there; nothing: no file
  std::optional<std::string> content;   // nothing: the file stays as it is, its base alone is new
  std::string base;
};

struct Update {
  std::vector<FileChange> changes;
  Manifest manifest;
};

// What carrying out an update came to.
struct Outcome {
  std::set<std::string> changed_since;  // files that somebody changed after they were read: left, and their bases too
  std::size_t kept_aside = 0;           // files, each with a warning that says where it is
};

// "<path>.edited", or with the first number that is free: where a file is kept aside.
std::string name_beside(const EmittedFolder& folder, const std::string& path);

// Reports what stands in the way of the changes: links, and what is neither a file nor a folder where one is needed.
void validate_ways(const std::vector<FileChange>& changes, const EmittedFolder& folder, Diagnostics& diagnostics);

// Carries out the update whole, or not at all: what fails for lack of space or of rights fails, with an error reported,
// before any file is touched.
Outcome carry_out(const Update& update, const EmittedFolder& folder, Diagnostics& diagnostics);

// Whether a run that was killed left an update.
bool is_update_pending(const EmittedFolder& folder);

// Finishes the update of a run that was killed, if there is one. A file that was edited since then is left. Errors:
// what is left is not what kgen writes, or something stands in its way; nothing is touched then.
void finish_pending_update(const EmittedFolder& folder, Diagnostics& diagnostics);

}  // namespace kgen
