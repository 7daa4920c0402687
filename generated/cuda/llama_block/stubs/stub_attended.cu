// Written by kgen 0.1.0: kgen plan llama_block.yaml --target cuda --arch sm_90a
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is d5e8f077003fe209.

#include "kgen/attention.hpp"
#include "kgen/view.hpp"

namespace llama_block {

// attended = attention(q, k_used, v_used)   (llama_block.yaml:57)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream) {
  kgen::attention(q, k_used, v_used, /*scale=*/0.125, /*causal=*/true, attended, stream);
}

}  // namespace llama_block
