// Names that differ by numbers: those of the parts of layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kgen {

// "model.layers." and ".wq" of "model.layers.0.wq" and "model.layers.1.wq". Further numbers that differ are left out.
struct NumberedName {
  std::string before, after;
};
// Nothing where the first two differ by more than numbers, or there is one.
std::optional<NumberedName> numbered_name(const std::vector<std::string>& names);

// "model.layers.{index}.wq", where that makes all the names, counted from 0 on; "{index+3}", where it is from 3 on.
std::optional<std::string> indexed_key(const std::vector<std::string>& keys);

}  // namespace kgen
