// Written by kgen from matmul_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of matmul_bias_relu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_matmul_bias_relu {

// y = relu(add(matmul(A, B), bias))
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> A, kgen::View<const float, 2> B,
            kgen::View<const float, 1> bias, kgen::Stream stream);

}  // namespace graph_matmul_bias_relu
