// The folder that kgen writes to. What lies in it may have come from somebody else, as a checkout does, and a link in
// it may lead anywhere: every access starts from the folder's descriptor, goes down one name at a time, and follows no
// link. How the folder itself is reached is the user's affair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "generator/base/diagnostics.hpp"

namespace kgen {

enum class EntryKind {
  none,
  file,
  folder,
  link,
  other,  // a pipe, a socket or a device
};

// "a link"
std::string_view kind_text(EntryKind kind);

// Names are relative to the folder: "stubs/stub_y.cpp". One that is absolute or empty, or of which a part is empty, "."
// or "..", or holds a zero byte, is an invalid argument to every function.
class EmittedFolder {
 public:
  // Opens the folder, if it is there; else it is empty to who reads it. `before_change` is called before each change
  // and within each write: the tests stop the process there.
  EmittedFolder(std::filesystem::path path = {}, std::function<void()> before_change = {});
  ~EmittedFolder();
  EmittedFolder(const EmittedFolder&) = delete;
  EmittedFolder& operator=(const EmittedFolder&) = delete;

  // Of the folder as the user named it, or of something in it: for messages.
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path path(std::string_view name) const;

  // ---- reading
  // `error` says why nothing is known of an entry; that there is none is no error.
  EntryKind kind(std::string_view name, std::error_code& error) const;
  EntryKind kind(std::string_view name) const;
  // The first on the way to `name` that is there and is no folder; "" where the way is free.
  std::string obstacle(std::string_view name) const;
  // The content of a regular file of at most largest_file bytes; where there is none, nothing, and `error` says why.
  std::optional<std::string> read(std::string_view name, std::error_code& error) const;
  // Whether files of a folder ("": of this one) may be created and removed.
  std::error_code validate_writable(std::string_view name) const;

  // ---- changing
  // Creates this folder, and those above it that are missing.
  std::error_code create();
  // Removes what create() made, as far as it is empty.
  void remove_created() const;
  // Creates the file, with the folders above it. Not atomic: for a name that nobody else knows.
  std::error_code write(std::string_view name, std::string_view content) const;
  // Renames a file or a folder; creates the folders above `to`. A file at `to` is replaced.
  std::error_code move(std::string_view from, std::string_view to) const;
  // Gives the file `to` the permissions of the file `from`.
  std::error_code copy_permissions(std::string_view from, std::string_view to) const;
  // Removes a file, and the folders above it that are empty then, but for `root`, which is above it ("": this folder).
  // No file is no error.
  std::error_code remove(std::string_view name, std::string_view root = "") const;
  // Removes a folder with all that it holds, and those above it that are empty then.
  std::error_code remove_folder(std::string_view name) const;

 private:
  friend class FolderLock;
  class Descriptor;
  struct Entry;

  void changing() const;
  void open();
  Descriptor open_folder(const std::vector<std::string>& names, bool create, std::error_code& error) const;
  Entry find(std::string_view name, bool create, std::error_code& error) const;
  void remove_empty_above(std::string_view name, std::string_view root) const;

  std::filesystem::path path_;
  std::function<void()> before_change_;
  int descriptor_ = -1;
  std::error_code open_error_;                  // why it is not open
  std::vector<std::filesystem::path> created_;  // the outermost first
};

// Holds the folder against other processes that write to it, until the end of the scope. Waits for its turn. Where the
// file system has no locks it holds nothing.
class FolderLock {
 public:
  explicit FolderLock(const EmittedFolder& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace kgen
