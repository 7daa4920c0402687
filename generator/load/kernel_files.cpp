#include "generator/load/kernel_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "generator/base/source_map.hpp"

namespace kgen {

namespace fs = std::filesystem;

std::vector<std::string> kernel_files(const std::string& path, Diagnostics& diagnostics) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    report_missing(path, "file or folder of kernels", diagnostics);
    return {};
  }
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> signatures, headers;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".yaml") signatures.push_back(entry.path().string());
    if (extension == ".hpp" || extension == ".h") headers.push_back(entry.path().string());
  }
  std::vector<std::string>& files = signatures.empty() ? headers : signatures;
  if (files.empty()) {
    diagnostics.error({}, fmt::format("the folder '{}' holds no kernels", path))
        .note("it has neither headers nor files of signatures (*.yaml)")
        .advise("put headers there that register kernels: struct KGEN_KERNEL(twice) Twice { ... }");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string kernel_include_directory(const std::string& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "my_kernels/"
  if (!fs::is_directory(folder, error)) folder = folder.parent_path();
  return folder.parent_path().string();
}

}  // namespace kgen
