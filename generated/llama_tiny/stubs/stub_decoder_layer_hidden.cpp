// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// hidden = mul(silu(matmul(a_normed, w_gate)), up)
// gate and activated never reach memory: 2816*B*S bytes of traffic saved.
struct stub_decoder_layer_hidden_epilogue {
  kgen::View<const float, 2> up;  // [B, S, 176]
  kgen::View<float, 2> hidden;    // [B, S, 176]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> gate) const {
    const auto activated = kgen::Silu::apply(gate);
    hidden.store(at, kgen::Mul::apply(activated, up.load<W>(at)));
  }
};

void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a_normed,
                               kgen::View<const float, 2> w_gate, kgen::View<const float, 3> up, kgen::Stream stream) {
  const stub_decoder_layer_hidden_epilogue epilogue{up.merge<0, 1>(), hidden.merge<0, 1>()};
  kgen::matmul(a_normed.merge<0, 1>(), w_gate, epilogue, stream);
}

}  // namespace graph_llama_tiny
