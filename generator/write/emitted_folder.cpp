#include "generator/write/emitted_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "generator/write/disk.hpp"

namespace kgen {

namespace fs = std::filesystem;

namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int file_flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;  // a pipe would wait for a writer
constexpr mode_t permission_bits = S_IRWXU | S_IRWXG | S_IRWXO;

// The parts of a name; none where one of them might lead out of the folder.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = name.find('/');
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) return {};
    parts.emplace_back(part);
    if (end == name.npos) return parts;
    name.remove_prefix(end + 1);
  }
}

// "a/b" of "a/b/c"; "" of "a".
std::string_view parent_of(std::string_view name) {
  const auto slash = name.rfind('/');
  return name.substr(0, slash == name.npos ? 0 : slash);
}

std::error_code result_of(int status) { return status == 0 ? std::error_code() : last_error(); }

EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::file;
  if (S_ISDIR(mode)) return EntryKind::folder;
  return S_ISLNK(mode) ? EntryKind::link : EntryKind::other;
}

std::error_code write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno != EINTR) return last_error();
    if (count > 0) content.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// Removes an entry, and all that is in it where it is a folder.
std::error_code remove_tree(int parent, const char* name) {
  struct stat status {};
  if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? std::error_code() : last_error();
  }
  if (!S_ISDIR(status.st_mode)) return result_of(::unlinkat(parent, name, 0));
  const int descriptor = ::openat(parent, name, folder_flags);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(descriptor < 0 ? nullptr : ::fdopendir(descriptor), ::closedir);
  if (!folder) return last_error();
  std::error_code error;
  while (const dirent* entry = error ? nullptr : ::readdir(folder.get())) {
    const std::string_view each = entry->d_name;
    if (each != "." && each != "..") error = remove_tree(descriptor, entry->d_name);
  }
  return error ? error : result_of(::unlinkat(parent, name, AT_REMOVEDIR));
}

}  // namespace

class EmittedFolder::Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  // A full disk may show here only.
  std::error_code close() { return result_of(::close(std::exchange(value_, -1))); }

 private:
  int value_ = -1;
};

// The folder that holds an entry, and the entry's name in it. Not open after an error.
struct EmittedFolder::Entry {
  Descriptor folder;
  std::string name;

  std::error_code status(struct stat& result) const {
    return result_of(::fstatat(folder.get(), name.c_str(), &result, AT_SYMLINK_NOFOLLOW));
  }
};

std::string_view kind_text(EntryKind kind) {
  switch (kind) {
    case EntryKind::none:
      return "nothing";
    case EntryKind::file:
      return "a file";
    case EntryKind::folder:
      return "a folder";
    case EntryKind::link:
      return "a link";
    case EntryKind::other:
      break;
  }
  return "a pipe, socket or device";
}

EmittedFolder::EmittedFolder(fs::path path, std::function<void()> before_change)
    : path_(std::move(path)), before_change_(std::move(before_change)) {
  open();
}

EmittedFolder::~EmittedFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EmittedFolder::open() {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  open_error_ = descriptor_ < 0 ? last_error() : std::error_code();
}

fs::path EmittedFolder::path(std::string_view name) const { return name.empty() ? path_ : path_ / name; }

void EmittedFolder::changing() const {
  if (before_change_) before_change_();
}

// Missing folders are created where `create` says so.
EmittedFolder::Descriptor EmittedFolder::open_folder(const std::vector<std::string>& names, bool create,
                                                     std::error_code& error) const {
  error = open_error_;
  Descriptor at(error ? -1 : ::openat(descriptor_, ".", folder_flags));
  if (!at.is_open() && !error) error = last_error();
  for (const std::string& name : names) {
    if (error) return {};
    Descriptor next(::openat(at.get(), name.c_str(), folder_flags));
    if (!next.is_open() && errno == ENOENT && create) {
      changing();
      const bool is_made = ::mkdirat(at.get(), name.c_str(), permission_bits) == 0 || errno == EEXIST;
      if (is_made) next = Descriptor(::openat(at.get(), name.c_str(), folder_flags));
    }
    if (!next.is_open()) error = last_error();
    at = std::move(next);
  }
  return at;
}

EmittedFolder::Entry EmittedFolder::find(std::string_view name, bool create, std::error_code& error) const {
  std::vector<std::string> parts = parts_of(name);
  if (parts.empty()) {
    error = std::make_error_code(std::errc::invalid_argument);
    return {};
  }
  Entry entry;
  entry.name = std::move(parts.back());
  parts.pop_back();
  entry.folder = open_folder(parts, create, error);
  return entry;
}

EntryKind EmittedFolder::kind(std::string_view name, std::error_code& error) const {
  const Entry entry = find(name, false, error);
  struct stat status {};
  if (!error) error = entry.status(status);
  if (!error) return kind_of(status.st_mode);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) error.clear();
  return EntryKind::none;
}

EntryKind EmittedFolder::kind(std::string_view name) const {
  std::error_code error;
  return kind(name, error);
}

std::string EmittedFolder::obstacle(std::string_view name) const {
  for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    const EntryKind on_the_way = kind(name.substr(0, slash));
    if (on_the_way == EntryKind::none) break;
    if (on_the_way != EntryKind::folder) return std::string(name.substr(0, slash));
  }
  return "";
}

std::optional<std::string> EmittedFolder::read(std::string_view name, std::error_code& error) const {
  const Entry entry = find(name, false, error);
  if (error) return std::nullopt;
  const Descriptor file(::openat(entry.folder.get(), entry.name.c_str(), file_flags));
  if (file.is_open()) return read_descriptor(file.get(), error);
  error = errno == ELOOP ? refusal_of(EntryKind::link) : last_error();
  return std::nullopt;
}

std::error_code EmittedFolder::validate_writable(std::string_view name) const {
  std::error_code error;
  const Descriptor folder = open_folder(name.empty() ? std::vector<std::string>() : parts_of(name), false, error);
  return error ? error : result_of(::faccessat(folder.get(), ".", W_OK | X_OK, 0));
}

std::error_code EmittedFolder::create() {
  if (!open_error_) return {};
  std::error_code error;
  std::vector<fs::path> missing;
  fs::path at = fs::absolute(path_, error);
  if (!at.has_filename()) at = at.parent_path();
  while (!error && fs::symlink_status(at, error).type() == fs::file_type::not_found) {
    error.clear();
    missing.push_back(at);
    at = at.parent_path();
  }
  for (auto each = missing.rbegin(); each != missing.rend() && !error; ++each) {
    if (fs::create_directory(*each, error)) created_.push_back(*each);
  }
  if (error) return error;
  open();
  return open_error_;
}

void EmittedFolder::remove_created() const {
  std::error_code occupied;
  for (auto each = created_.rbegin(); each != created_.rend() && !occupied; ++each) fs::remove(*each, occupied);
}

std::error_code EmittedFolder::write(std::string_view name, std::string_view content) const {
  std::error_code error;
  const Entry entry = find(name, true, error);
  if (error) return error;
  changing();
  ::unlinkat(entry.folder.get(), entry.name.c_str(), 0);  // of a run that was killed
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t mode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;  // less what the user masks
  Descriptor file(::openat(entry.folder.get(), entry.name.c_str(), flags, mode));
  if (!file.is_open()) return last_error();
  changing();
  error = write_all(file.get(), content);
  return error ? error : file.close();
}

std::error_code EmittedFolder::move(std::string_view from, std::string_view to) const {
  std::error_code error;
  const Entry source = find(from, false, error);
  if (error) return error;
  const Entry target = find(to, true, error);
  if (error) return error;
  changing();
  return result_of(::renameat(source.folder.get(), source.name.c_str(), target.folder.get(), target.name.c_str()));
}

std::error_code EmittedFolder::copy_permissions(std::string_view from, std::string_view to) const {
  std::error_code error;
  const Entry source = find(from, false, error);
  if (error) return error;
  const Entry target = find(to, false, error);
  if (error) return error;
  struct stat wanted {
  }, present{};
  error = source.status(wanted);
  if (!error) error = target.status(present);
  if (error || (wanted.st_mode & permission_bits) == (present.st_mode & permission_bits)) return error;
  changing();
  const Descriptor file(::openat(target.folder.get(), target.name.c_str(), file_flags));
  return file.is_open() ? result_of(::fchmod(file.get(), wanted.st_mode & permission_bits)) : last_error();
}

void EmittedFolder::remove_empty_above(std::string_view name, std::string_view root) const {
  std::error_code occupied;  // as it should be, where a folder still holds something
  for (auto at = parent_of(name); !occupied && at.size() > root.size(); at = parent_of(at)) {
    const Entry entry = find(at, false, occupied);
    if (occupied) return;
    changing();
    occupied = result_of(::unlinkat(entry.folder.get(), entry.name.c_str(), AT_REMOVEDIR));
  }
}

std::error_code EmittedFolder::remove(std::string_view name, std::string_view root) const {
  std::error_code error;
  if (const Entry entry = find(name, false, error); !error) {
    changing();
    error = result_of(::unlinkat(entry.folder.get(), entry.name.c_str(), 0));
  }
  if (error == std::errc::no_such_file_or_directory) error.clear();
  remove_empty_above(name, root);
  return error;
}

std::error_code EmittedFolder::remove_folder(std::string_view name) const {
  std::error_code error;
  const Entry entry = find(name, false, error);
  if (error) return error;
  changing();
  error = remove_tree(entry.folder.get(), entry.name.c_str());
  if (!error) remove_empty_above(name, "");
  return error;
}

FolderLock::FolderLock(const EmittedFolder& folder) : descriptor_(folder.descriptor_) {
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_UN);
}

}  // namespace kgen
