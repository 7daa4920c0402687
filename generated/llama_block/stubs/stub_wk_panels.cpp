// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/flattened.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// wk_panels: copy, matmul
// wk_panels_2: copy, matmul
// wk_k_first_2_copy and wk_k_second_2_copy never reach memory: 1048576 bytes of traffic saved.
struct stub_wk_panels_prologue_b {
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> x;  // [512, 4, 32]

  KGEN_FN kgen::Index<2> shape() const { return x.shape(); }

  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return x.load<W>(at);
  }
};

void stub_wk_panels(kgen::View<float, 3> panels, kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_wk_panels_prologue_b prologue_b{x};
  kgen::pack_columns(prologue_b, panels, stream);
}

}  // namespace graph_llama_block
