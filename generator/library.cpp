#include "generator/library.hpp"

#include <algorithm>
#include <cstdlib>

namespace kgen {
namespace {

namespace fs = std::filesystem;

Library library_in(const fs::path& folder) {
  const fs::path specs = folder / "specs", templates = folder / "templates";
  return {specs / "ops", specs / "onnx", specs / "schemas" / "graph.schema.json",
          templates / "kgen" / "signatures.yaml", templates};
}

}  // namespace

Library find_library() {
  if (const char* share = std::getenv("KGEN_SHARE")) return library_in(share);
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  Library installed = library_in(prefix / KGEN_SHARE_DIRECTORY);
  installed.headers = prefix / KGEN_INCLUDE_DIRECTORY;
  if (!error && fs::exists(installed.operators, error)) return installed;
  return library_in(KGEN_SOURCE_DIRECTORY);
}

std::vector<std::string> yaml_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace kgen
