// The plugin's reading of kernels.
#pragma once

#include "generator/introspect/clang_services.hpp"

namespace kgen {

// ClangServices::introspect.
KernelLibrary introspect(const IntrospectRequest& request, SourceMap& sources, Diagnostics& diagnostics);

}  // namespace kgen
