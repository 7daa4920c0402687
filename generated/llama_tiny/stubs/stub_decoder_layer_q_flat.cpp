// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// q_flat = matmul(normed, wq)   (in decoder_layer)
// k_flat = matmul(normed, wk)   (in decoder_layer)
// v_flat = matmul(normed, wv)   (in decoder_layer)
// up = matmul(a_normed, w_up)   (in decoder_layer)
// logits = matmul(h_normed, lm_head)   (in llama_tiny)
void stub_decoder_layer_q_flat(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
                               kgen::Stream stream) {
  kgen::matmul(a.merge<0, 1>(), b, out.merge<0, 1>(), stream);
}

}  // namespace graph_llama_tiny
