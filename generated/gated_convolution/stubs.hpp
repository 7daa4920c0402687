// Written by kgen from gated_convolution.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of gated_convolution, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_gated_convolution {

// y = add(silu(add(causal_conv1d(mul(x, gate), weight), bias)), x)
void stub_y(kgen::View<kgen::bf16, 3> y, kgen::View<const kgen::bf16, 3> x, kgen::View<const kgen::bf16, 3> gate,
            kgen::View<const kgen::bf16, 2> weight, kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream);

}  // namespace graph_gated_convolution
