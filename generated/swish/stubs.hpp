// Written by kgen 0.1.0: kgen plan swish.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 95d59a2905a5a16e.

// The stubs of swish, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace swish {

// y = mul(x, sigmoid(x))   (swish.yaml:7-8)
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::Stream stream);

}  // namespace swish
