// Written by kgen 0.1.0: kgen plan llama_block.yaml --target cuda --arch sm_90a
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 8a7181f494ea6911.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace llama_block {

// q_flat = matmul(normed, wq)   (llama_block.yaml:36)
void stub_q_flat(kgen::View<float, 3> q_flat, kgen::View<const float, 3> normed, kgen::View<const float, 2> wq,
                 kgen::Stream stream) {
  kgen::matmul(normed.merge<0, 1>(), wq, q_flat.merge<0, 1>(), stream);
}

}  // namespace llama_block
