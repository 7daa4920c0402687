// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/attention.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// attended = attention(q, k_all, v_all, lengths)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_all, kgen::View<const float, 4> v_all,
                                 kgen::View<const std::int64_t, 1> lengths, kgen::Stream stream) {
  kgen::attention(q, k_all, v_all, lengths, /*scale=*/0.25, /*causal=*/true, attended, stream);
}

}  // namespace graph_llama_decode
