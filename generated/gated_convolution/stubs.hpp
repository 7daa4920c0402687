// Written by kgen 0.1.0: kgen plan gated_convolution.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 064862cdb33bd851.

// The stubs of gated_convolution, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace gated_convolution {

// y = add(silu(add(causal_conv1d(mul(x, gate), weight), bias)), x)   (gated_convolution.yaml:11-15)
void stub_y(kgen::View<kgen::bf16, 3> y, kgen::View<const kgen::bf16, 3> x, kgen::View<const kgen::bf16, 3> gate,
            kgen::View<const kgen::bf16, 2> weight, kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream);

}  // namespace gated_convolution
