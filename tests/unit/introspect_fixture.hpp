// Headers written for one test, and what introspection makes of them.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "generator/introspect/signatures_yaml.hpp"
#include "generator/kernels.hpp"
#include "tests/unit/own_folder.hpp"
#include "tests/unit/repository.hpp"

namespace kgen::test {

class Folder : OwnFolder {
 public:
  std::string write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << content;
    return (path / name).string();
  }

  const std::filesystem::path path = OwnFolder::path;
};

inline void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

struct Introspected {
  std::string kernels;   // what `kgen introspect` prints after `kernels:`
  std::string messages;  // with the names of the headers, and without those of folders
};

// Headers as "#pragma once", an include of what kernels are written with, a namespace `my`, and the text, which begins
// on line 4.
inline Introspected introspected(std::initializer_list<std::pair<std::string, std::string>> headers) {
  const Folder folder;
  PipelineOptions options;
  options.include_directories = {(repository::root() / "templates").string()};
  std::vector<std::string> paths;
  for (const auto& [name, text] : headers) {
    paths.push_back(folder.write(
        name, "#pragma once\n#include \"kgen/matmul.hpp\"\nnamespace my { using namespace kgen;\n" + text + "}\n"));
  }
  Session session;
  const KernelLibrary library = introspect_headers(paths, options, session);
  CHECK(library.kernels.empty() >= session.diagnostics.has_errors());
  Introspected result{signatures_yaml({library.kernels, {}}), session.diagnostics.text(false)};
  result.kernels.erase(0, result.kernels.find("kernels:") + 8);
  replace_all(result.messages, folder.path.string() + "/", "");
  return result;
}

inline Introspected introspected(const std::string& header) { return introspected({{"my.hpp", header}}); }

}  // namespace kgen::test
