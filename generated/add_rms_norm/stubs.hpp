// Written by kgen from add_rms_norm.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of add_rms_norm, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_add_rms_norm {

// h, y: add, rms_norm
void stub_y(kgen::View<float, 2> h, kgen::View<float, 2> y, kgen::View<const float, 2> x,
            kgen::View<const float, 2> residual, kgen::View<const float, 1> weight, kgen::Stream stream);

}  // namespace graph_add_rms_norm
