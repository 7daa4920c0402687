// Arithmetic over dims, and tensor types: "2*D", "(S + 1) / 2", "f32[B, S, 2*D]".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/dim.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// The dims that sums may name.
struct DimScope {
  struct Entry {
    Dim value;  // its symbol, or its number where it can only have one
    SourceLocation where;
    bool used = false;
  };
  std::map<std::string, Entry, std::less<>> entries;
  DimRanges ranges;  // of the symbols
};

// The greatest magnitude that a size may reach, over all values of its dims: exact in double as well.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 53;

// A scalar that is a sum of dims:
//   sum     = product {("+" | "-") product}
//   product = factor {("*" | "/") factor}          "/" rounds down
//   factor  = {"-"} (integer | dim | "(" sum ")")
// A lone integer may have any value. Errors (placed within the scalar): unknown dim, syntax, division by what may not
// be positive, too large, too long.
std::optional<Dim> read_dim(Yaml value, std::string_view what, DimScope& scope, Diagnostics& diagnostics);

// A list of sums, or one sum, which stands for a list of one.
std::optional<std::vector<Dim>> read_dims(Yaml value, std::string_view what, DimScope& scope, Diagnostics& diagnostics);

// A scalar "dtype[sum, sum, ...]". Errors: as above; unknown dtype, a negative extent, too many axes or elements.
std::optional<TensorType> read_tensor_type(Yaml value, DimScope& scope, Diagnostics& diagnostics);

}  // namespace kgen
