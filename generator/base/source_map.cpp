#include "generator/base/source_map.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace kgen {
namespace {

namespace fs = std::filesystem;

// Names of the files in the folder where `path` should be; none where there is no such folder.
std::vector<std::string> siblings(const fs::path& path) {
  constexpr std::size_t most_files = 1000;
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end && names.size() < most_files;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

// Nothing where the file holds more than largest_file; `failed` where reading stops before its end.
std::optional<std::string> read_all(std::ifstream& stream, bool& failed) {
  std::string content;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (stream) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    content.append(chunk, 0, static_cast<std::size_t>(stream.gcount()));
    if (content.size() > largest_file) return std::nullopt;
  }
  failed = !stream.eof();
  return content;
}

}  // namespace

void report_missing(const std::string& path, std::string_view what, Diagnostics& diagnostics) {
  Diagnostic& diagnostic = diagnostics.error({}, fmt::format("cannot read '{}': there is no such {}", path, what));
  fs::path as_path(path);
  if (!as_path.has_filename()) as_path = as_path.parent_path();
  const std::vector<std::string> near = nearest_names(as_path.filename().string(), siblings(as_path));
  if (!near.empty()) diagnostic.note(fmt::format("near it there: {}", quoted_list(near)));
}

const SourceText& SourceMap::add(std::string path, std::string content) {
  return texts_.emplace_back(SourceText{std::move(path), std::move(content)});
}

const SourceText* SourceMap::read(const std::string& path, Diagnostics& diagnostics) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    report_missing(path, "file", diagnostics);
    return nullptr;
  }
  if (fs::is_directory(status)) {
    diagnostics.error({}, fmt::format("cannot read '{}': it is a folder", path));
    return nullptr;
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a pipe would be waited for, a device has no end
    diagnostics.error({}, fmt::format("cannot read '{}': it is a pipe, socket or device", path))
        .advise("write its content to a file first, and name that");
    return nullptr;
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  bool failed = !stream;
  std::optional<std::string> content = failed ? std::string() : read_all(stream, failed);
  if (failed) {
    const char* reason = errno != 0 ? std::strerror(errno) : "reading failed";
    diagnostics.error({}, fmt::format("cannot read '{}': {}", path, reason));
    return nullptr;
  }
  if (!content) {
    diagnostics.error({}, fmt::format("cannot read '{}': it is larger than {} MB", path, largest_file >> 20));
    return nullptr;
  }
  return &add(path, std::move(*content));
}

}  // namespace kgen
