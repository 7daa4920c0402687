// What is said beside a kernel's declaration: KGEN_EVALUATED, KGEN_IN_MEMORY, KGEN_ROWS and KGEN_TUNED.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/introspect/clang/read_kernel.hpp"

namespace kgen {

// Adds the registration's facts to the signature that its declaration makes. False after an error.
bool read_facts(const Registration& registration, KernelSignature& kernel, Diagnostics& diagnostics);

}  // namespace kgen
