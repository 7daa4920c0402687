// Written by kgen from kernel_choice.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of kernel_choice, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_kernel_choice {

// y_few = gelu(add(matmul(few, weight), bias))
void stub_y_few(kgen::View<float, 2> y_few, kgen::View<const float, 2> few, kgen::View<const float, 2> weight,
                kgen::View<const float, 1> bias, kgen::Stream stream);

// y_many = matmul(many, weight)
void stub_y_many(kgen::View<float, 2> y_many, kgen::View<const float, 2> many, kgen::View<const float, 2> weight,
                 kgen::Stream stream);

// y_low = gelu(low)
void stub_y_low(kgen::View<kgen::bf16, 2> y_low, kgen::View<const kgen::bf16, 2> low, kgen::Stream stream);

}  // namespace graph_kernel_choice
