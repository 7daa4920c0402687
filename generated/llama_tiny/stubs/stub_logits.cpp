// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// logits = matmul(h_normed, lm_head)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> lm_head,
                 kgen::Stream stream) {
  kgen::matmul(h_normed.merge<0, 1>(), lm_head, logits.merge<0, 1>(), stream);
}

}  // namespace graph_llama_tiny
