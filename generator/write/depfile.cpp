#include "generator/write/depfile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/base/languages.hpp"
#include "generator/write/disk.hpp"

namespace kgen {

std::string depfile_text(const std::vector<std::string>& targets, const std::vector<std::string>& dependencies) {
  std::string text;
  for (const std::string& target : targets) {
    if (!text.empty()) text += ' ';
    text += make_path(target);
  }
  text += ':';
  for (const std::string& dependency : dependencies) {
    text += " \\\n  ";
    text += make_path(dependency);
  }
  return text + "\n";
}

bool write_depfile(const std::filesystem::path& path, const std::vector<std::string>& targets,
                   const std::vector<std::string>& dependencies, Diagnostics& diagnostics) {
  for (const auto* paths : {&targets, &dependencies}) {
    const auto unspeakable = std::find_if_not(paths->begin(), paths->end(), is_make_path);
    if (unspeakable == paths->end()) continue;
    diagnostics.error({}, fmt::format("'{}' cannot stand in {}", *unspeakable, path.string()))
        .note("make and ninja know no paths with line ends")
        .advise("rename it");
    return false;
  }
  return replace_file(path, depfile_text(targets, dependencies), diagnostics);
}

}  // namespace kgen
