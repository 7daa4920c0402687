// Compile-time parameters of kernels, by rules that people and `kgen` may write.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Appends the rules of `tuning:`, a list of {kernel, when, parameters: {TileM: 48}}, to `set`.
void load_tuning(Yaml value, OpSet& set, Diagnostics& diagnostics);

// Reports rules for kernels and parameters that there are not, values that a parameter may not have, and conditions
// that the kernel's operator gives no meaning. All kernels have been loaded.
void validate_tuning(const OpSet& set, Diagnostics& diagnostics);

}  // namespace kgen
