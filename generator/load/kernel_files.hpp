// Where a user's kernels are.
#pragma once

#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"

namespace kgen {

// The files of signatures that `path` names: itself, or all of a folder (*.yaml), sorted. Errors: there is no such path
// (names the nearest beside it), or a folder without such a file.
std::vector<std::string> kernel_files(const std::string& path, Diagnostics& diagnostics);

// The folder that the headers of those kernels are relative to: the folder itself, or the one that holds the file.
std::string kernel_folder(const std::string& path);

}  // namespace kgen
