// Written by kgen 0.1.0: kgen plan conv_bias_relu.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 3d1f0846694199c1.

// The stubs of conv_bias_relu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace conv_bias_relu {

// y = relu(add(conv2d(x, filters), bias))   (conv_bias_relu.yaml:9-11)
void stub_y(kgen::View<float, 4> y, kgen::View<const float, 4> x, kgen::View<const float, 4> filters,
            kgen::View<const float, 1> bias, kgen::Stream stream);

}  // namespace conv_bias_relu
