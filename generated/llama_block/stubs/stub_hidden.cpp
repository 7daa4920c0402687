// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// hidden: packed_matmul, silu, mul
// gate, up and activated never reach memory; h_normed is read once: 35072*B*S bytes of traffic saved.
struct stub_hidden_epilogue {
  kgen::View<float, 2> hidden;  // [B, S, 1376]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> gate, kgen::Vec<float, W> up) const {
    const auto activated = kgen::Silu::apply(gate);
    hidden.store(at, kgen::Mul::apply(activated, up));
  }
};

void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h_normed,
                 kgen::View<const float, 3> w_gate_panels, kgen::View<const float, 3> w_up_panels,
                 kgen::Stream stream) {
  const stub_hidden_epilogue epilogue{hidden.merge<0, 1>()};
  kgen::packed_matmul(h_normed.merge<0, 1>(), kgen::several(w_gate_panels, w_up_panels), /*padding=*/0, epilogue,
                      stream);
}

}  // namespace graph_llama_block
