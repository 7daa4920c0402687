#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "generator/introspect/clang_services.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// Where the plugin may be, in order.
std::vector<std::string> plugin_paths() {
  if (const char* chosen = std::getenv("KGEN_CLANG")) return {chosen};
  std::vector<std::string> paths;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error)
    paths.push_back((executable.parent_path().parent_path() / KGEN_PLUGIN_DIRECTORY / "kgen_clang.so").string());
  if (*KGEN_BUILT_PLUGIN != '\0') paths.emplace_back(KGEN_BUILT_PLUGIN);
  return paths;
}

// The table, or null and why not.
const ClangServices* open_plugin(const std::string& path, std::string& reason) {
  // It stays open: what it returned points into it.
  void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    reason = dlerror();
    return nullptr;
  }
  const auto function = reinterpret_cast<ClangServicesFunction>(dlsym(plugin, clang_services_symbol));
  if (!function) {
    reason = fmt::format("{} is no plugin of kgen", path);
    return nullptr;
  }
  const ClangServices* services = function();
  if (services->version != KGEN_VERSION) {
    reason = fmt::format("{} belongs to kgen {}, and this is kgen {}", path, services->version, KGEN_VERSION);
    return nullptr;
  }
  return services;
}

}  // namespace

const ClangServices* clang_services(std::string_view purpose, Diagnostics& diagnostics) {
  const bool built_without = *KGEN_BUILT_PLUGIN == '\0';
  std::string reason = built_without ? "kgen was built with KGEN_WITH_CLANG=OFF; there is none at" : "there is none at";
  for (const std::string& path : plugin_paths()) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      reason += fmt::format(" '{}'", path);
      continue;
    }
    std::string failure;
    if (const ClangServices* services = open_plugin(path, failure)) return services;
    reason = failure;
    break;
  }
  diagnostics.error({}, fmt::format("kgen's Clang plugin is needed to {}", purpose))
      .note(reason)
      .advise("build kgen with -DKGEN_WITH_CLANG=ON, or let KGEN_CLANG name the plugin, kgen_clang.so");
  return nullptr;
}

}  // namespace kgen
