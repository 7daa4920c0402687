// Whole files, read and written so that nobody ever sees half of one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "generator/base/diagnostics.hpp"

namespace kgen {

// The content of a file; where it cannot be read, nothing, and `error` says why.
std::optional<std::string> read_file(const std::filesystem::path& path, std::error_code& error);

// Creates or truncates the file. Not atomic: for a path that nobody else knows.
std::error_code write_file(const std::filesystem::path& path, std::string_view content);

// Writes aside, then renames: even when the process is killed, `path` holds its old content or the new. A file that
// holds `content` already keeps its time. False, with an error reported, where it cannot be done.
bool replace_file(const std::filesystem::path& path, std::string_view content, Diagnostics& diagnostics);

// Holds the folder against other processes that write to it, until the end of the scope. Waits for its turn. Where the
// file system has no locks it holds nothing.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace kgen
