#include "generator/write/disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace kgen {

namespace fs = std::filesystem;

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(const fs::path& path, const char* mode) { return File(std::fopen(path.c_str(), mode), std::fclose); }

std::error_code last_error() { return {errno, std::generic_category()}; }

}  // namespace

std::optional<std::string> read_file(const fs::path& path, std::error_code& error) {
  error.clear();
  const File file = open_file(path, "rb");
  std::string content;
  char buffer[1 << 16];
  while (file && !std::feof(file.get()) && !std::ferror(file.get())) {
    content.append(buffer, std::fread(buffer, 1, sizeof buffer, file.get()));
  }
  if (file && !std::ferror(file.get())) return content;
  error = last_error();
  return std::nullopt;
}

void Disk::changing() const {
  if (before_change_) before_change_();
}

std::error_code Disk::write(const fs::path& path, std::string_view content) const {
  changing();
  File file = open_file(path, "wb");
  if (!file) return last_error();
  changing();
  if (std::fwrite(content.data(), 1, content.size(), file.get()) != content.size()) return last_error();
  return std::fclose(file.release()) == 0 ? std::error_code{} : last_error();  // a full disk may show here only
}

std::error_code Disk::move(const fs::path& from, const fs::path& to) const {
  std::error_code error = create_folder(to.parent_path());
  if (error) return error;
  changing();
  fs::rename(from, to, error);
  return error;
}

std::error_code Disk::remove(const fs::path& path, const fs::path& root) const {
  changing();
  std::error_code error;
  fs::remove(path, error);
  const fs::path& last = root.has_filename() ? root : root.parent_path();
  std::error_code occupied;  // as it should be, where a folder still holds something
  for (fs::path at = path.parent_path(); at != last && at.has_relative_path() && !occupied; at = at.parent_path()) {
    changing();
    fs::remove(at, occupied);
  }
  return error;
}

std::error_code Disk::remove_folder(const fs::path& folder) const {
  changing();
  std::error_code error;
  fs::remove_all(folder, error);
  return error;
}

std::error_code Disk::create_folder(const fs::path& folder) const {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return {};
  changing();
  fs::create_directories(folder, error);
  return error;
}

bool Disk::replace(const fs::path& path, std::string_view content, Diagnostics& diagnostics) const {
  std::error_code error;
  if (read_file(path, error) == content) return true;
  const fs::path aside = path.string() + fmt::format(".{}.tmp", ::getpid());
  error = write(aside, content);
  if (!error) error = move(aside, path);
  if (!error) return true;
  std::error_code ignored;
  fs::remove(aside, ignored);
  report_failure(diagnostics, "write", path, error);
  return false;
}

FolderLock::FolderLock(const fs::path& folder) : descriptor_(::open(folder.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void report_failure(Diagnostics& diagnostics, std::string_view what, const fs::path& path,
                    const std::error_code& error) {
  diagnostics.error({}, fmt::format("cannot {} '{}': {}", what, path.string(), error.message()));
}

}  // namespace kgen
