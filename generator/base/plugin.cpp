#include "generator/base/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace kgen {
namespace {

namespace fs = std::filesystem;

// Where the plugin may be, in order.
std::vector<std::string> plugin_paths(const Plugin& plugin) {
  if (const char* chosen = std::getenv(plugin.variable)) return {chosen};
  std::vector<std::string> paths;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) paths.push_back((executable.parent_path().parent_path() / plugin.directory / plugin.file).string());
  if (!plugin.built.empty()) paths.emplace_back(plugin.built);
  return paths;
}

// The table, or null and why not.
const void* open_file(const std::string& path, const char* symbol, std::string_view version,
                      std::string_view (*version_of)(const void* table), std::string& reason) {
  void* file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!file) {
    reason = dlerror();
    return nullptr;
  }
  const auto function = reinterpret_cast<const void* (*)()>(dlsym(file, symbol));
  if (!function) {
    reason = fmt::format("{} is no such plugin of kgen", path);
    return nullptr;
  }
  const void* table = function();
  if (version_of(table) != version) {
    reason = fmt::format("{} belongs to kgen {}, and this is kgen {}", path, version_of(table), version);
    return nullptr;
  }
  return table;
}

}  // namespace

const void* open_plugin(const Plugin& plugin, std::string_view purpose, std::string_view version,
                        std::string_view (*version_of)(const void* table), Diagnostics& diagnostics) {
  std::string reason = plugin.built.empty() ? fmt::format("kgen was built with {}=OFF; there is none at", plugin.option)
                                            : "there is none at";
  for (const std::string& path : plugin_paths(plugin)) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      reason += fmt::format(" '{}'", path);
      continue;
    }
    std::string failure;
    if (const void* table = open_file(path, plugin.symbol, version, version_of, failure)) return table;
    reason = failure;
    break;
  }
  diagnostics.error({}, fmt::format("kgen's {} plugin is needed to {}", plugin.name, purpose))
      .note(reason)
      .advise(fmt::format("build kgen with -D{}=ON, or let {} name the plugin, {}", plugin.option, plugin.variable,
                          plugin.file));
  return nullptr;
}

}  // namespace kgen
