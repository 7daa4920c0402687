// The kernels of a run: from a file of signatures as long as the headers it was read from are what they were, else from
// the headers themselves.
#pragma once

#include <string>
#include <vector>

#include "generator/pipeline.hpp"

namespace kgen {

// Adds the built-in kernels, options.headers and options.kernels to session.ops, and what they were read from to
// session.read_files. A folder of options.kernels without a file of signatures is one of headers, which are read with
// Clang, as options.headers are; of those, what they say counts, and not what options.signatures says of the same ones.
void load_kernels(const PipelineOptions& options, Session& session);

// What the headers at these paths register, read with Clang.
KernelLibrary introspect_headers(const std::vector<std::string>& headers, const PipelineOptions& options,
                                 Session& session);

}  // namespace kgen
