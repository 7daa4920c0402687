#include "generator/write/emission_inputs.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view share_prefix = "kgen:", header_prefix = "kgen:templates/";

// From the root of the file system, without links; the path may lead to nothing yet.
fs::path full_path(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::weakly_canonical(fs::absolute(path, error), error);
  return full.has_filename() ? full : full.parent_path();
}

// Nothing where the file is not below the folder.
std::optional<std::string> name_below(const fs::path& full, const fs::path& folder) {
  const fs::path below = full.lexically_relative(full_path(folder));
  if (below.empty() || *below.begin() == "..") return std::nullopt;
  return below.generic_string();
}

std::string name_of(const fs::path& path, const InputRoots& roots) {
  const fs::path full = full_path(path);
  if (const auto name = name_below(full, roots.headers / "kgen")) return fmt::format("{}kgen/{}", header_prefix, *name);
  if (const auto name = name_below(full, roots.share)) return fmt::format("{}{}", share_prefix, *name);
  return relative_path(path, roots.folder);
}

fs::path path_of(std::string_view name, const InputRoots& roots) {
  if (!name.starts_with(share_prefix)) return roots.folder / name;
  const fs::path shared = roots.share / name.substr(share_prefix.size());
  std::error_code error;
  if (fs::exists(shared, error) || !name.starts_with(header_prefix)) return shared;
  return roots.headers / name.substr(header_prefix.size());  // installed, headers lie apart
}

}  // namespace

std::string relative_path(const fs::path& path, const fs::path& folder) {
  return full_path(path).lexically_proximate(full_path(folder.empty() ? "." : folder)).generic_string();
}

std::vector<EmissionInput> emission_inputs(const std::vector<std::string>& paths, const InputRoots& roots) {
  std::vector<EmissionInput> inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::optional<std::string> content = read_file(path, error);
    if (content) inputs.push_back({name_of(path, roots), content_hash(*content)});
  }
  return inputs;
}

std::vector<std::string> stale_reasons(const Manifest& manifest, const InputRoots& roots, std::string_view version) {
  std::vector<std::string> reasons;
  if (manifest.version != version) {
    const std::string writer = manifest.version.empty() ? "an earlier kgen" : "kgen " + manifest.version;
    reasons.push_back(fmt::format("written by {}, and this is kgen {}", writer, version));
  }
  for (const EmissionInput& input : manifest.inputs) {
    std::error_code error;
    const std::optional<std::string> content = read_file(path_of(input.name, roots), error);
    if (!content) reasons.push_back(fmt::format("{} cannot be read: {}", input.name, error.message()));
    if (content && content_hash(*content) != input.hash) reasons.push_back(fmt::format("{} changed", input.name));
  }
  return reasons;
}

}  // namespace kgen
