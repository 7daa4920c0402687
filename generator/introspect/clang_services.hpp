// What kgen asks of Clang. All of Clang is behind this table, in a plugin that is opened when it is first asked for, so
// that a run which needs none of it pays neither the time nor the memory of loading it. The plugin and kgen are built
// together and share the types below.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source_map.hpp"
#include "generator/model/kernel_signature.hpp"

namespace kgen {

struct IntrospectRequest {
  std::vector<std::string> headers;              // paths of files
  std::vector<std::string> include_directories;  // as -I has them, and by which headers are named
};

struct FunctionParameter {
  std::string name;  // may be empty
  std::string type;  // canonical: "kgen::View<const float, 2>"
  SourceLocation where;
};

// A function as it is declared: no template, no member.
struct FunctionSignature {
  std::string name;    // qualified: "softmax::stub_y"
  std::string result;  // canonical type
  std::vector<FunctionParameter> parameters;
  SourceLocation where;  // its name
};

struct SignatureRequest {
  std::vector<std::string> files;  // paths; read in this order, as one translation unit
  std::vector<std::string> include_directories;
};

struct ClangServices {
  std::string_view version;  // kgen's own, to tell a plugin of another build

  // What the kernels that these headers register, and not others that they include, say of themselves: by header and
  // place. KernelLibrary::headers are all files that were read, but for the system's. Texts that locations point into
  // are added to `sources`. After an error there are no kernels.
  KernelLibrary (*introspect)(const IntrospectRequest& request, SourceMap& sources, Diagnostics& diagnostics);

  // C++ source, laid out by Clang's formatter in the style of emitted source. `path` tells the language. What it cannot
  // lay out comes back as it is.
  std::string (*format)(std::string_view text, std::string_view path);

  // The functions that these files, and not others that they include, declare or define, in the order of the text.
  // After errors, those that Clang made sense of.
  std::vector<FunctionSignature> (*signatures)(const SignatureRequest& request, SourceMap& sources,
                                               Diagnostics& diagnostics);
};

// The name of the function that the plugin exports: it returns the table.
inline constexpr const char* clang_services_symbol = "kgen_clang_services";
using ClangServicesFunction = const ClangServices* (*)();

// The plugin's table. It is the file that $KGEN_CLANG names, or lib/kgen/kgen_clang.so beside the folder of the
// executable, or the one of the build tree. Null after an error that says why there is none; `purpose` completes
// "kgen's Clang plugin is needed to ...".
const ClangServices* clang_services(std::string_view purpose, Diagnostics& diagnostics);

}  // namespace kgen
