// How an emitted folder stands: what the user changed in it, and what waits to be done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/write/manifest.hpp"

namespace kgen {

// The most pressing thing that can be said of a file.
enum class FileState { conflicting, unreadable, missing, orphaned, pinned, edited, unedited };

struct FileStatus {
  std::string path;
  FileState state = FileState::unedited;
  std::uint32_t line = 0;  // of the first conflict
  bool edited = false;     // it differs from what kgen emitted
  std::string reason;      // of what is unreadable: "Permission denied"
};

struct FolderStatus {
  Manifest manifest;
  std::vector<FileStatus> files;  // by path
};

// Finishes first what a run that was killed has left undone. An error, with what to do, where kgen wrote nothing there,
// or its record is damaged.
FolderStatus folder_status(const std::filesystem::path& folder, Diagnostics& diagnostics);

// Lines such as "edited       stubs/stub_y.cpp", most pressing first, and what to do. `stale` are the reasons why the
// files are not what kgen would write now.
std::string status_text(const FolderStatus& status, const std::vector<std::string>& stale);

// True where there is nothing for the user to do: edited and pinned files may stay so.
bool is_settled(const FolderStatus& status, const std::vector<std::string>& stale);

// The user's edits as a unified diff from what kgen emitted: of every edited file, or of `only` (a path as the user
// typed it, or one relative to the folder). Errors: `only` is no file of kgen's; what kgen emitted is lost.
std::string edits_text(const std::filesystem::path& folder, const FolderStatus& status, const std::string& only,
                       bool color, Diagnostics& diagnostics);

}  // namespace kgen
