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

std::error_code write_file(const fs::path& path, std::string_view content) {
  File file = open_file(path, "wb");
  if (!file) return last_error();
  if (std::fwrite(content.data(), 1, content.size(), file.get()) != content.size()) return last_error();
  return std::fclose(file.release()) == 0 ? std::error_code{} : last_error();  // a full disk may show here only
}

bool replace_file(const fs::path& path, std::string_view content, Diagnostics& diagnostics) {
  std::error_code error;
  if (read_file(path, error) == content) return true;
  const fs::path aside = path.string() + fmt::format(".{}.tmp", ::getpid());
  error = write_file(aside, content);
  if (!error) fs::rename(aside, path, error);
  if (!error) return true;
  std::error_code ignored;
  fs::remove(aside, ignored);
  diagnostics.error({}, fmt::format("cannot write '{}': {}", path.string(), error.message()));
  return false;
}

FolderLock::FolderLock(const fs::path& folder) : descriptor_(::open(folder.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace kgen
