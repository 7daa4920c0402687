// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/attention.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// attended = attention(q, k_used, v_used)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream) {
  kgen::attention(q, k_used, v_used, /*scale=*/0.125, /*causal=*/true, attended, stream);
}

}  // namespace graph_llama_block
