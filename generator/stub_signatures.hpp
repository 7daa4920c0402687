// Whether stubs that the user edited still have the signatures that their wrapper calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source_map.hpp"
#include "generator/introspect/clang_services.hpp"
#include "generator/write/status.hpp"

namespace kgen {

// An error, with both places, where no function of `found` is the one that is declared: the parameter that differs in
// name, type or place.
void compare_signature(const FunctionSignature& declared, const std::vector<FunctionSignature>& found,
                       Diagnostics& diagnostics);

// Compares every edited stub of the folder that has no conflict, by the header that its wrapper includes:
// stubs/stub_y.cpp, .cu or .hip defines what stubs.hpp declares as stub_y. One that ends too early, or that does not
// define it for an error of its own, is an error too. What cannot be compared, for want of Clang or of a header that
// only the build finds, is a warning.
void compare_stub_signatures(const std::filesystem::path& folder, const FolderStatus& status,
                             const std::vector<std::string>& include_directories, SourceMap& sources,
                             Diagnostics& diagnostics);

}  // namespace kgen
