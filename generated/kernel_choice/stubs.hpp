// Written by kgen 0.1.0: kgen plan kernel_choice.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is f01f69b707c0bde0.

// The stubs of kernel_choice, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace kernel_choice {

// y_few = gelu(add(matmul(few, weight), bias))   (kernel_choice.yaml:13-15)
void stub_y_few(kgen::View<float, 2> y_few, kgen::View<const float, 2> few, kgen::View<const float, 2> weight,
                kgen::View<const float, 1> bias, kgen::Stream stream);

// y_many = matmul(many, weight)   (kernel_choice.yaml:16)
void stub_y_many(kgen::View<float, 2> y_many, kgen::View<const float, 2> many, kgen::View<const float, 2> weight,
                 kgen::Stream stream);

// y_low = gelu(low)   (kernel_choice.yaml:17)
void stub_y_low(kgen::View<kgen::bf16, 2> y_low, kgen::View<const kgen::bf16, 2> low, kgen::Stream stream);

}  // namespace kernel_choice
