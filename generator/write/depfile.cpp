#include "generator/write/depfile.hpp"

#include "generator/write/disk.hpp"

namespace kgen {
namespace {

// As gcc -MD writes it: backslashes double before a space alone.
std::string escaped(const std::string& path) {
  std::string result;
  std::size_t backslashes = 0;  // that end `result`
  for (const char c : path) {
    if (c == ' ' || c == '\t') result.append(backslashes + 1, '\\');
    if (c == '#' || c == ':') result += '\\';
    if (c == '$') result += '$';
    result += c;
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  return result;
}

}  // namespace

std::string depfile_text(const std::vector<std::string>& targets, const std::vector<std::string>& dependencies) {
  std::string text;
  for (const std::string& target : targets) {
    if (!text.empty()) text += ' ';
    text += escaped(target);
  }
  text += ':';
  for (const std::string& dependency : dependencies) {
    text += " \\\n  ";
    text += escaped(dependency);
  }
  return text + "\n";
}

bool write_depfile(const std::filesystem::path& path, const std::vector<std::string>& targets,
                   const std::vector<std::string>& dependencies, Diagnostics& diagnostics) {
  return replace_file(path, depfile_text(targets, dependencies), diagnostics);
}

}  // namespace kgen
