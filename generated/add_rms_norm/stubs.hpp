// Written by kgen 0.1.0: kgen plan add_rms_norm.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 5d728c190939cc03.

// The stubs of add_rms_norm, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace add_rms_norm {

// h, y: add, rms_norm   (add_rms_norm.yaml:10-11)
void stub_y(kgen::View<float, 2> h, kgen::View<float, 2> y, kgen::View<const float, 2> x,
            kgen::View<const float, 2> residual, kgen::View<const float, 1> weight, kgen::Stream stream);

}  // namespace add_rms_norm
