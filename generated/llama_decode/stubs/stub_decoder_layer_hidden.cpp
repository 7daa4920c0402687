// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// hidden: packed_matmul, mul, packed_matmul, mul, silu, mul
// gate_unscaled, gate, up_unscaled and 2 intermediates never reach memory; a is read once: 7296*B*S bytes of traffic
// saved.
struct stub_decoder_layer_hidden_epilogue {
  kgen::View<const float, 2> a_normed_scale;  // [B, S, 1] broadcast
  kgen::View<float, 2> hidden;                // [B, S, 176]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> gate_unscaled, kgen::Vec<float, W> up_unscaled) const {
    const auto a_normed_scale_value = a_normed_scale.load<W>(at);
    const auto gate = kgen::Mul::apply(gate_unscaled, a_normed_scale_value);
    const auto up = kgen::Mul::apply(up_unscaled, a_normed_scale_value);
    const auto activated = kgen::Silu::apply(gate);
    hidden.store(at, kgen::Mul::apply(activated, up));
  }
};

void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a,
                               kgen::View<const float, 3> w_gate_scaled_panels,
                               kgen::View<const float, 3> a_normed_scale, kgen::View<const float, 3> w_up_scaled_panels,
                               kgen::Stream stream) {
  const stub_decoder_layer_hidden_epilogue epilogue{
      a_normed_scale.broadcast_to(hidden.shape()).merge<0, 1>(),
      hidden.merge<0, 1>(),
  };
  kgen::packed_matmul(a.merge<0, 1>(), kgen::several(w_gate_scaled_panels, w_up_scaled_panels), /*padding=*/0, epilogue,
                      stream);
}

}  // namespace graph_llama_decode
