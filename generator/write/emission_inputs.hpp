// The files that an emission was made from, by names that hold on every machine: "kgen:specs/ops/arithmetic.yaml" for one
// that came with kgen, a path relative to the emitted folder for any other.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "generator/write/manifest.hpp"

namespace kgen {

// Where names of inputs start from.
struct InputRoots {
  std::filesystem::path folder;   // the emitted one
  std::filesystem::path share;    // of kgen: holds specs/ and templates/
  std::filesystem::path headers;  // of kgen: the include directory that holds kgen/, templates/ in the source tree
};

// `path` as seen from `folder`, of which either may be missing yet.
std::string relative_path(const std::filesystem::path& path, const std::filesystem::path& folder);

// With the hashes that the files have now. A file that cannot be read is left out.
std::vector<EmissionInput> emission_inputs(const std::vector<std::string>& paths, const InputRoots& roots);

// Why kgen of this version might write other files than those of the manifest: "graph.yaml changed". None: it would not.
std::vector<std::string> stale_reasons(const Manifest& manifest, const InputRoots& roots, std::string_view version);

}  // namespace kgen
