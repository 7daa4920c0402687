// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/paged_attention.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// attended = paged_attention(q, k_all, v_all, block_table, lengths)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_all,
                   kgen::View<const float, 4> v_all, kgen::View<const std::int32_t, 2> block_table,
                   kgen::View<const std::int64_t, 1> lengths, kgen::Stream stream) {
  kgen::paged_attention(q, k_all, v_all, block_table, lengths, /*scale=*/0.25, /*causal=*/true, attended, stream);
}

}  // namespace graph_paged_decode
