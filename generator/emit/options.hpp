// What emission needs to know besides the plan.
#pragma once

#include <string>

namespace kgen {

struct EmitOptions {
  std::string version;  // kgen's own: "0.1.0"
  std::string command;  // for banners, without machine paths: "kgen plan softmax.yaml --target cpu"
};

}  // namespace kgen
