// Written by kgen from swish.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of swish, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_swish {

// y = mul(x, sigmoid(x))
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::Stream stream);

}  // namespace graph_swish
