// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/attention.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// attended = attention(q, k_used, v_used)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_used, kgen::View<const float, 4> v_used,
                                 kgen::Stream stream) {
  kgen::attention(q, k_used, v_used, /*scale=*/0.25, /*causal=*/true, attended, stream);
}

}  // namespace graph_llama_tiny
