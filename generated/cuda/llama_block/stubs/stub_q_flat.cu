// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// q_flat = matmul(normed, wq)
// k_flat = matmul(normed, wk)
// v_flat = matmul(normed, wv)
// up = matmul(h_normed, w_up)
void stub_q_flat(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
                 kgen::Stream stream) {
  kgen::matmul(a.merge<0, 1>(), b, out.merge<0, 1>(), stream);
}

}  // namespace graph_llama_block
