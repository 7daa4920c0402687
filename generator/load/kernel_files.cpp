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
  std::vector<std::string> files;
  bool has_headers = false;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    has_headers = has_headers || entry.path().extension() == ".hpp" || entry.path().extension() == ".h";
  }
  if (files.empty()) {
    Diagnostic& report = diagnostics.error({}, fmt::format("the folder '{}' holds no kernels", path));
    report.note(has_headers ? "it has headers, but no file of their signatures (*.yaml)"
                            : "it has neither headers nor files of signatures (*.yaml)");
    report.advise(
        "put a file beside the headers that says what they declare: kernels: [{kernel: mine::Twice, header: "
        "my_kernels/twice.hpp, operator: twice, ...}]");
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
