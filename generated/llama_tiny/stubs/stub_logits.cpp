// Written by kgen 0.1.0: kgen plan llama_tiny.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 19b41a126ee9567e.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace llama_tiny {

// logits = matmul(h_normed, lm_head)   (llama_tiny.yaml:84)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> lm_head,
                 kgen::Stream stream) {
  kgen::matmul(h_normed.merge<0, 1>(), lm_head, logits.merge<0, 1>(), stream);
}

}  // namespace llama_tiny
