// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// wo_panels: matmul
// w_down_panels: matmul
void stub_decoder_layer_wo_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream) {
  kgen::pack_columns(b, panels, stream);
}

}  // namespace graph_llama_decode
