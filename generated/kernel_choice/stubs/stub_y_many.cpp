// Written by kgen 0.1.0: kgen plan kernel_choice.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 5cf9b9a4c7aed14b.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace kernel_choice {

// y_many = matmul(many, weight)   (kernel_choice.yaml:16)
void stub_y_many(kgen::View<float, 2> y_many, kgen::View<const float, 2> many, kgen::View<const float, 2> weight,
                 kgen::Stream stream) {
  kgen::matmul(many, weight, y_many, stream);
}

}  // namespace kernel_choice
