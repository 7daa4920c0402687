// Parts of kgen that bring a large library with them, in shared objects of their own: opened when first asked for.
#pragma once

#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"

namespace kgen {

struct Plugin {
  std::string_view name;       // what users call it: "Clang"
  const char* file;            // "kgen_clang.so"
  const char* variable;        // of the environment, that names another file: "KGEN_CLANG"
  const char* option;          // of the build, without which there is none: "KGEN_WITH_CLANG"
  const char* symbol;          // the function that returns the plugin's table
  std::string_view directory;  // where it is installed, below the folder that holds the executable's
  std::string_view built;      // the one of the build tree; empty: kgen was built without
};

// What the plugin's function returns, found in the file that the variable names, in the directory, or in the build tree.
// Null after an error that says why there is none; `purpose` completes "kgen's Clang plugin is needed to ...". The
// plugin stays open, as what it returned points into it. `version_of` gives the version that a table says it is of;
// another than `version` is refused.
const void* open_plugin(const Plugin& plugin, std::string_view purpose, std::string_view version,
                        std::string_view (*version_of)(const void* table), Diagnostics& diagnostics);

}  // namespace kgen
