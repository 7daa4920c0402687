// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// q_flat = packed_matmul(normed, wq_panels)
// k_flat = packed_matmul(normed, wk_panels)
// v_flat = packed_matmul(normed, wv_panels)
// up = packed_matmul(h_normed, w_up_panels)
void stub_q_flat(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
                 kgen::Stream stream) {
  kgen::packed_matmul(a.merge<0, 1>(), panels, /*padding=*/0, out.merge<0, 1>(), stream);
}

}  // namespace graph_llama_block
