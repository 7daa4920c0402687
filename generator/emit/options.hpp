// What emission needs to know besides the plan.
#pragma once

#include <string>
#include <vector>

#include "generator/emit/target.hpp"

namespace kgen {

struct EmitOptions {
  std::string source;   // the graph's file, for banners: "softmax.yaml"
  std::string command;  // for plan.yaml, without machine paths: "kgen plan softmax.yaml --target cpu"
  // Where the folders of a user's kernels are, relative to the emitted folder: for its CMakeLists.txt.
  std::vector<std::string> include_directories = {};
  const Target* target = &cpu_target;
  std::string architecture = {};  // one of the target's; empty: the build chooses
};

}  // namespace kgen
