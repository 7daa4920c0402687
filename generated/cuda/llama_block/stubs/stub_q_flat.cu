// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// q_flat = matmul(normed, wq)
void stub_q_flat(kgen::View<float, 3> q_flat, kgen::View<const float, 3> normed, kgen::View<const float, 2> wq,
                 kgen::Stream stream) {
  kgen::matmul(normed.merge<0, 1>(), wq, q_flat.merge<0, 1>(), stream);
}

}  // namespace graph_llama_block
