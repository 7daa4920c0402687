// The structs that opaque operators pass to each other.
#pragma once

#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

using Structs = decltype(OpSet::structs);

// Reads `structs:`, a list of {struct, header, bytes, alignment}, into `structs`. Errors: a name that is no qualified
// C++ name, or declared before; an alignment that memory does not have; bytes that no struct of that alignment has.
void load_structs(Yaml value, Structs& structs, Diagnostics& diagnostics);

// Null where there is none of that name.
const StructType* find_struct(const Structs& structs, std::string_view name);

}  // namespace kgen
