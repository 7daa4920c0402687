// The files that a plan was made from, in the form that make and ninja read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"

namespace kgen {

// "target: \\\n  dependency \\\n  dependency\n", with what make gives a meaning escaped.
std::string depfile_text(const std::vector<std::string>& targets, const std::vector<std::string>& dependencies);

// False, with an error reported, where the file cannot be written, or a path has a line end, which make cannot hold.
bool write_depfile(const std::filesystem::path& path, const std::vector<std::string>& targets,
                   const std::vector<std::string>& dependencies, Diagnostics& diagnostics);

}  // namespace kgen
