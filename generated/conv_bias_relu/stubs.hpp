// Written by kgen from conv_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of conv_bias_relu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_conv_bias_relu {

// y = relu(add(conv2d(x, filters), bias))
void stub_y(kgen::View<float, 4> y, kgen::View<const float, 4> x, kgen::View<const float, 4> filters,
            kgen::View<const float, 1> bias, kgen::Stream stream);

}  // namespace graph_conv_bias_relu
