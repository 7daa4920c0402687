// Written by kgen from grayscale.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of grayscale, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_grayscale {

// gray = add(add(mul(red, 0.21), mul(green, 0.71)), mul(blue, 0.07))
void stub_gray(kgen::View<float, 2> gray, kgen::View<const float, 2> red, kgen::View<const float, 2> green,
               kgen::View<const float, 2> blue, kgen::Stream stream);

}  // namespace graph_grayscale
