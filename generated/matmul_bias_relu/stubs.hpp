// Written by kgen 0.1.0: kgen plan matmul_bias_relu.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 68a043009b73d7b2.

// The stubs of matmul_bias_relu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace matmul_bias_relu {

// y = relu(add(matmul(A, B), bias))   (matmul_bias_relu.yaml:10-12)
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> A, kgen::View<const float, 2> B,
            kgen::View<const float, 1> bias, kgen::Stream stream);

}  // namespace matmul_bias_relu
