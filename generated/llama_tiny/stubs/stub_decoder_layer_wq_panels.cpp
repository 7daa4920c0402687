// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/flattened.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// wq_panels: copy, matmul
// wq_panels_2: copy, matmul
// wq_q_first_2_copy and wq_q_second_2_copy never reach memory: 32768 bytes of traffic saved.
struct stub_decoder_layer_wq_panels_prologue_b {
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> x;  // [64, 4, 8]

  KGEN_FN kgen::Index<2> shape() const { return x.shape(); }

  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return x.load<W>(at);
  }
};

void stub_decoder_layer_wq_panels(kgen::View<float, 3> panels, kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_decoder_layer_wq_panels_prologue_b prologue_b{x};
  kgen::pack_columns(prologue_b, panels, stream);
}

}  // namespace graph_llama_tiny
