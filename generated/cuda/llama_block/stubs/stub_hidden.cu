// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// hidden: matmul, mul, matmul, mul, silu, mul
// gate_unscaled, gate, up_unscaled and 2 intermediates never reach memory; h is read once: 57088*B*S bytes of traffic
// saved.
struct stub_hidden_epilogue {
  kgen::View<const float, 2> h_normed_scale;  // [B, S, 1] broadcast
  kgen::View<float, 2> hidden;                // [B, S, 1376]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> gate_unscaled, kgen::Vec<float, W> up_unscaled) const {
    const auto h_normed_scale_value = h_normed_scale.load<W>(at);
    const auto gate = kgen::Mul::apply(gate_unscaled, h_normed_scale_value);
    const auto up = kgen::Mul::apply(up_unscaled, h_normed_scale_value);
    const auto activated = kgen::Silu::apply(gate);
    hidden.store(at, kgen::Mul::apply(activated, up));
  }
};

void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h, kgen::View<const float, 2> w_gate_scaled,
                 kgen::View<const float, 3> h_normed_scale, kgen::View<const float, 2> w_up_scaled,
                 kgen::Stream stream) {
  const stub_hidden_epilogue epilogue{h_normed_scale.broadcast_to(hidden.shape()).merge<0, 1>(), hidden.merge<0, 1>()};
  kgen::matmul(h.merge<0, 1>(), kgen::several(w_gate_scaled, w_up_scaled), epilogue, stream);
}

}  // namespace graph_llama_block
