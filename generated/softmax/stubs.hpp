// Written by kgen 0.1.0: kgen plan softmax.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is e8f8b0f17a9590e1.

// The stubs of softmax, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace softmax {

// probabilities: mul, add, softmax   (softmax.yaml:10-12)
void stub_probabilities(kgen::View<float, 3> probabilities, kgen::View<const float, 3> scores,
                        kgen::View<const float, 2> mask, kgen::Stream stream);

}  // namespace softmax
