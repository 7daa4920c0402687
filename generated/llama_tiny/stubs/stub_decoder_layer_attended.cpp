// Written by kgen 0.1.0: kgen plan llama_tiny.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 523b82abfa066b46.

#include "kgen/attention.hpp"
#include "kgen/view.hpp"

namespace llama_tiny {

// attended = attention(q, k_used, v_used)   (llama_tiny.yaml:62)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_used, kgen::View<const float, 4> v_used,
                                 kgen::Stream stream) {
  kgen::attention(q, k_used, v_used, /*scale=*/0.25, /*causal=*/true, attended, stream);
}

}  // namespace llama_tiny
