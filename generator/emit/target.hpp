// What source is written for. The text of a stub's body is the same for every target, and so is the plan but for what
// conditions of operators and kernels ask of the target; what else differs stands in its table, one file in a folder of
// its own. A new target is a new folder and a line in target.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

struct Target {
  std::string_view name;                        // as in --target and kgen_add_graph(... TARGET)
  TargetKind kind;                              // as conditions ask for it
  std::vector<Architecture> architectures;      // as in --arch, the default first; empty: the build chooses
  std::string_view language;                    // of stubs, as CMake names it
  std::string_view stub_extension;              // ".cpp"
  std::uint32_t streams;                        // on which independent branches may overlap
  std::string_view device;                      // the runtime's table of the device; empty: the host is the device
};

extern const Target cpu_target;
extern const Target cuda_target;
extern const Target hip_target;

const std::vector<const Target*>& all_targets();
// Null where there is none of that name.
const Target* find_target(std::string_view name);

}  // namespace kgen
