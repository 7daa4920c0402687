// What emission needs to know besides the plan.
#pragma once

#include <string>
#include <vector>

#include "generator/emit/target.hpp"

namespace kgen {

struct EmitOptions {
  std::string version;  // kgen's own: "0.1.0"
  std::string command;  // for banners, without machine paths: "kgen plan softmax.yaml --target cpu"
  // Where the folders of a user's kernels are, relative to the emitted folder: for its CMakeLists.txt.
  std::vector<std::string> include_directories = {};
  const Target* target = &cpu_target;
  std::string architecture = {};  // one of the target's; empty: the build chooses
};

}  // namespace kgen
