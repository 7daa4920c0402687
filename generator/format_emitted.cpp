#include "generator/format_emitted.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "generator/base/hash.hpp"
#include "generator/introspect/emitted_style.hpp"

namespace kgen {
namespace {

bool is_formatted(const SourceFile& file) {
  constexpr std::array<std::string_view, 4> extensions = {".cpp", ".hpp", ".cu", ".hip"};
  const bool is_cpp = std::any_of(extensions.begin(), extensions.end(),
                                  [&](std::string_view extension) { return file.path.ends_with(extension); });
  return is_cpp && static_cast<std::size_t>(std::count(file.content.begin(), file.content.end(), '\n')) <=
                       most_formatted_lines;
}

// Of a text and the style that it is formatted in.
std::uint64_t unformatted_hash(const std::string& content) { return content_hash(std::string(emitted_style) + content); }

// What came out when the same went in last time.
std::optional<std::string> last_result(const SourceFile& file, std::uint64_t unformatted,
                                       const EmittedFolder& folder, const Manifest& last) {
  const auto known = last.files.find(file.path);
  if (known == last.files.end() || known->second.unformatted != unformatted) return std::nullopt;
  return read_base(folder, file.path, known->second.hash);
}

}  // namespace

std::vector<SourceFile> format_emitted(std::vector<SourceFile> files, const EmittedFolder& folder,
                                       const Manifest& last, const std::function<const ClangServices*()>& services) {
  const ClangServices* clang = nullptr;
  bool asked = false;
  for (SourceFile& file : files) {
    if (!is_formatted(file)) continue;
    const std::uint64_t unformatted = unformatted_hash(file.content);
    std::optional<std::string> content = last_result(file, unformatted, folder, last);
    if (!content) {
      if (!asked) clang = services();
      asked = true;
      if (!clang) return files;
      content = clang->format(file.content, file.path);
    }
    file.content = std::move(*content);
    file.unformatted = unformatted;
  }
  return files;
}

}  // namespace kgen
