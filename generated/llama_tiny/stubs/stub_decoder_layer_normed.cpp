// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// normed: rms_norm
// 5 intermediates never reach memory: 1048*B*S bytes of traffic saved.
struct stub_decoder_layer_normed_rows {
  kgen::View<const float, 2> h;               // [B, S, 64]
  kgen::View<const float, 2> attention_norm;  // [64] broadcast
  kgen::View<float, 2> normed;                // [B, S, 64]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto h_row = row.load(h);
    const auto normed_squared = row.map(kgen::Square{}, h_row);                            // rms_norm
    const auto normed_mean_square = row.reduce(kgen::Mean{}, normed_squared);              // rms_norm
    const auto normed_shifted = row.map(kgen::Add{}, normed_mean_square, 1e-05f);          // rms_norm
    const auto normed_scale = row.map(kgen::Rsqrt{}, normed_shifted);                      // rms_norm
    const auto normed_normalised = row.map(kgen::Mul{}, h_row, normed_scale);              // rms_norm
    row.store(normed, row.map(kgen::Mul{}, normed_normalised, row.load(attention_norm)));  // rms_norm
  }
};

void stub_decoder_layer_normed(kgen::View<float, 3> normed, kgen::View<const float, 3> h,
                               kgen::View<const float, 1> attention_norm, kgen::Stream stream) {
  const stub_decoder_layer_normed_rows body{
      h.merge<0, 1>(),
      attention_norm.broadcast_to(normed.shape()).merge<0, 1>(),
      normed.merge<0, 1>(),
  };
  kgen::rows<1, 64>(body.h.shape(), body, stream);
}

}  // namespace graph_llama_tiny
