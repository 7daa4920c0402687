// Where kgen's own operators, kernels and their headers are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kgen {

// The operators, the rules of import, the schema of graphs, the signatures of kernels, and their headers.
struct Library {
  std::filesystem::path operators, rules, graph_schema, signatures, headers;
};

// Of $KGEN_SHARE, what is installed beside the executable, or the source tree that it was built from.
Library find_library();

// The YAML files of a folder, sorted.
std::vector<std::string> yaml_files(const std::filesystem::path& folder);

}  // namespace kgen
