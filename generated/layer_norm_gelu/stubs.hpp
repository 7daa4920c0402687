// Written by kgen from layer_norm_gelu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of layer_norm_gelu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_layer_norm_gelu {

// y: layer_norm, gelu
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::View<const float, 1> weight,
            kgen::View<const float, 1> bias, kgen::Stream stream);

}  // namespace graph_layer_norm_gelu
