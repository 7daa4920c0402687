// Written by kgen 0.1.0: kgen plan llama_block.yaml --target cuda --arch sm_90a
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 098d044ce8f2ff12.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace llama_block {

// k_flat = matmul(normed, wk)   (llama_block.yaml:37)
void stub_k_flat(kgen::View<float, 3> k_flat, kgen::View<const float, 3> normed, kgen::View<const float, 2> wk,
                 kgen::Stream stream) {
  kgen::matmul(normed.merge<0, 1>(), wk, k_flat.merge<0, 1>(), stream);
}

}  // namespace llama_block
