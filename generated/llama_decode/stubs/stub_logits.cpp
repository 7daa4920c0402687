// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// logits = mul(packed_matmul(h, lm_head_scaled_panels), h_normed_scale)
// logits_unscaled never reaches memory: 2048*B*S bytes of traffic saved.
struct stub_logits_epilogue {
  kgen::View<const float, 2> h_normed_scale;  // [B, S, 1] broadcast
  kgen::View<float, 2> logits;                // [B, S, 256]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> logits_unscaled) const {
    logits.store(at, kgen::Mul::apply(logits_unscaled, h_normed_scale.load<W>(at)));
  }
};

void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h,
                 kgen::View<const float, 3> lm_head_scaled_panels, kgen::View<const float, 3> h_normed_scale,
                 kgen::Stream stream) {
  const stub_logits_epilogue epilogue{h_normed_scale.broadcast_to(logits.shape()).merge<0, 1>(), logits.merge<0, 1>()};
  kgen::packed_matmul(h.merge<0, 1>(), lm_head_scaled_panels, /*padding=*/0, epilogue, stream);
}

}  // namespace graph_llama_decode
