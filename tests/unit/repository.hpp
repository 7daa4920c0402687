// The repository's own files, as the tests that keep the house in order see them.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace kgen::repository {

std::filesystem::path root();

inline std::string read(const std::filesystem::path& path) {
  std::ifstream stream(root() / path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Paths from the root of every file below `folder` whose extension is one of these.
inline std::vector<std::string> files_below(const std::string& folder, const std::vector<std::string>& extensions) {
  std::vector<std::string> result;
  if (!std::filesystem::exists(root() / folder)) return result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / folder)) {
    for (const std::string& extension : extensions) {
      if (entry.is_regular_file() && entry.path().extension() == extension) {
        result.push_back(entry.path().lexically_relative(root()).string());
      }
    }
  }
  return result;
}

// The contents of the string literals of C++ source. Escapes stay as they are written; comments, include lines and
// character literals hold none.
inline std::vector<std::string> string_literals(std::string_view source) {
  std::vector<std::string> result;
  std::size_t at = 0;
  const auto skip_past = [&](std::string_view end) {
    const std::size_t found = source.find(end, at);
    at = found == std::string_view::npos ? source.size() : found + end.size();
  };
  const auto quoted = [&](char quote) {
    const std::size_t begin = ++at;
    while (at < source.size() && source[at] != quote) at += source[at] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at++, source.size());
    return std::string(source.substr(begin, end - begin));
  };
  while (at < source.size()) {
    const std::string_view rest = source.substr(at);
    if (rest.starts_with("//") || rest.starts_with("#include")) {
      skip_past("\n");
    } else if (rest.starts_with("/*")) {
      skip_past("*/");
    } else if (rest.starts_with("R\"")) {
      const std::string end = std::string(")").append(rest.substr(2, rest.find('(') - 2)).append("\"");
      const std::size_t begin = at + end.size() + 1;
      skip_past(end);
      result.emplace_back(source.substr(begin, at - end.size() - begin));
    } else if (rest[0] == '"') {
      result.push_back(quoted('"'));
    } else if (rest[0] == '\'' && (at == 0 || !std::isalnum(static_cast<unsigned char>(source[at - 1])))) {
      quoted('\'');  // not the separator in 1'000
    } else {
      ++at;
    }
  }
  return result;
}

}  // namespace kgen::repository
