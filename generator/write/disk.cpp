#include "generator/write/disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "generator/base/source_map.hpp"

namespace kgen {

namespace fs = std::filesystem;

namespace {

// Why a file is not read that the system would read.
class Refusals : public std::error_category {
 public:
  const char* name() const noexcept override { return "kgen"; }
  std::string message(int kind) const override { return fmt::format("it is {}", kind_text(EntryKind{kind})); }
};

}  // namespace

std::error_code refusal_of(EntryKind kind) {
  static const Refusals category;
  return {static_cast<int>(kind), category};
}

std::error_code last_error() { return {errno, std::generic_category()}; }

std::optional<std::string> read_descriptor(int descriptor, std::error_code& error) {
  error.clear();
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    error = last_error();
  } else if (S_ISDIR(status.st_mode)) {
    error = std::make_error_code(std::errc::is_a_directory);
  } else if (!S_ISREG(status.st_mode)) {
    error = refusal_of(EntryKind::other);
  }
  std::string content;
  char buffer[1 << 16];
  while (!error) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count == 0) return content;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = last_error();
    if (count > 0) content.append(buffer, static_cast<std::size_t>(count));
    if (content.size() > largest_file) error = std::make_error_code(std::errc::file_too_large);
  }
  return std::nullopt;
}

std::optional<std::string> read_file(const fs::path& path, std::error_code& error) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe would wait for a writer
  if (descriptor < 0) {
    error = last_error();
    return std::nullopt;
  }
  std::optional<std::string> content = read_descriptor(descriptor, error);
  ::close(descriptor);
  return content;
}

bool replace_file(const fs::path& path, std::string_view content, Diagnostics& diagnostics) {
  std::error_code error;
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  const EmittedFolder folder(target.has_parent_path() ? target.parent_path() : ".");
  const std::string name = target.filename().string(), aside = fmt::format("{}.{}.tmp", name, ::getpid());
  const EntryKind kind = folder.kind(name, error);
  if (kind != EntryKind::none && kind != EntryKind::file) {
    diagnostics.error({}, fmt::format("cannot write '{}': {} is there", path.string(), kind_text(kind)))
        .advise("name a file");
    return false;
  }
  if (folder.read(name, error) == content) return true;
  error = folder.write(aside, content);
  if (!error && kind == EntryKind::file) error = folder.copy_permissions(name, aside);
  if (!error) error = folder.move(aside, name);
  if (!error) return true;
  folder.remove(aside);
  report_failure(diagnostics, "write", path, error);
  return false;
}

Diagnostic& report_failure(Diagnostics& diagnostics, std::string_view what, const fs::path& path,
                           const std::error_code& error) {
  return diagnostics.error({}, fmt::format("cannot {} '{}': {}", what, path.string(), error.message()));
}

}  // namespace kgen
