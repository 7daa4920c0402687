// Written by kgen from softmax.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of softmax, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_softmax {

// probabilities: mul, add, softmax
void stub_probabilities(kgen::View<float, 3> probabilities, kgen::View<const float, 3> scores,
                        kgen::View<const float, 2> mask, kgen::Stream stream);

}  // namespace graph_softmax
