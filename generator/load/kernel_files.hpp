// Where a user's kernels are.
#pragma once

#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"

namespace kgen {

// The files that `path` names, sorted: itself, or of a folder the files of signatures (*.yaml); where it has none, its
// headers, which then speak for themselves. Errors: there is no such path (names the nearest beside it), or a folder
// without such files.
std::vector<std::string> kernel_files(const std::string& path, Diagnostics& diagnostics);

// What must be on the include path, so that stubs find the headers of those kernels: they are included with the name of
// their folder ("my_kernels/snake.hpp"), so this is where that folder lies.
std::string kernel_include_directory(const std::string& path);

}  // namespace kgen
