// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// k_flat = matmul(normed, wk)
void stub_k_flat(kgen::View<float, 3> k_flat, kgen::View<const float, 3> normed, kgen::View<const float, 2> wk,
                 kgen::Stream stream) {
  kgen::matmul(normed.merge<0, 1>(), wk, k_flat.merge<0, 1>(), stream);
}

}  // namespace graph_llama_block
