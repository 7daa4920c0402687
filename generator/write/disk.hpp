// Whole files, read and written so that nobody ever sees half of one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "generator/base/diagnostics.hpp"

namespace kgen {

// The content of a file; where it cannot be read, nothing, and `error` says why.
std::optional<std::string> read_file(const std::filesystem::path& path, std::error_code& error);

// Everything that changes a disk.
class Disk {
 public:
  Disk() = default;
  // `before_change` is called before each change and within each write: the tests stop the process there.
  explicit Disk(std::function<void()> before_change) : before_change_(std::move(before_change)) {}

  // Creates or truncates the file. Not atomic: for a path that nobody else knows.
  std::error_code write(const std::filesystem::path& path, std::string_view content) const;
  // Renames a file or a folder; creates the folders above `to`. A file at `to` is replaced.
  std::error_code move(const std::filesystem::path& from, const std::filesystem::path& to) const;
  // Removes a file and the folders above it that are empty then, up to `root`, which stays. No file is no error.
  std::error_code remove(const std::filesystem::path& path, const std::filesystem::path& root) const;
  std::error_code remove_folder(const std::filesystem::path& folder) const;
  std::error_code create_folder(const std::filesystem::path& folder) const;

  // Writes aside, then renames: even when the process is killed, `path` holds its old content or the new. A file that
  // holds `content` already keeps its time. False, with an error reported, where it cannot be done.
  bool replace(const std::filesystem::path& path, std::string_view content, Diagnostics& diagnostics) const;

 private:
  void changing() const;

  std::function<void()> before_change_;
};

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

// "cannot write 'src/stub_y.cpp': No space left on device"
void report_failure(Diagnostics& diagnostics, std::string_view what, const std::filesystem::path& path,
                    const std::error_code& error);

}  // namespace kgen
