// The plugin's reading of plain functions.
#pragma once

#include "generator/introspect/clang_services.hpp"

namespace kgen {

// ClangServices::signatures.
std::vector<FunctionSignature> read_signatures(const SignatureRequest& request, SourceMap& sources,
                                               Diagnostics& diagnostics);

}  // namespace kgen
