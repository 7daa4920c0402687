// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// logits = packed_matmul(h_normed, lm_head_panels)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h_normed,
                 kgen::View<const float, 3> lm_head_panels, kgen::Stream stream) {
  kgen::packed_matmul(h_normed.merge<0, 1>(), lm_head_panels, /*padding=*/0, logits.merge<0, 1>(), stream);
}

}  // namespace graph_llama_tiny
