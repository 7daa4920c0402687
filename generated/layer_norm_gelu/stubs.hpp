// Written by kgen 0.1.0: kgen plan layer_norm_gelu.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is cbdafcb63b92944d.

// The stubs of layer_norm_gelu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace layer_norm_gelu {

// y: layer_norm, gelu   (layer_norm_gelu.yaml:10-11)
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::View<const float, 1> weight,
            kgen::View<const float, 1> bias, kgen::Stream stream);

}  // namespace layer_norm_gelu
