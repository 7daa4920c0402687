// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// wv_panels: matmul   (in decoder_layer)
// wo_panels: matmul   (in decoder_layer)
// w_gate_panels: matmul   (in decoder_layer)
// w_up_panels: matmul   (in decoder_layer)
// w_down_panels: matmul   (in decoder_layer)
// lm_head_panels: matmul   (in llama_tiny)
void stub_decoder_layer_wv_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream) {
  kgen::pack_columns(b, panels, stream);
}

}  // namespace graph_llama_tiny
