// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// normed: rms_norm
// 5 intermediates never reach memory: 8216*B*S bytes of traffic saved.
struct stub_normed_rows {
  kgen::View<const float, 2> x;               // [B, S, 512]
  kgen::View<const float, 2> attention_norm;  // [512] broadcast
  kgen::View<float, 2> normed;                // [B, S, 512]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto normed_squared = row.map(kgen::Square{}, x_row);                            // rms_norm
    const auto normed_mean_square = row.reduce(kgen::Mean{}, normed_squared);              // rms_norm
    const auto normed_shifted = row.map(kgen::Add{}, normed_mean_square, 1e-05f);          // rms_norm
    const auto normed_scale = row.map(kgen::Rsqrt{}, normed_shifted);                      // rms_norm
    const auto normed_normalised = row.map(kgen::Mul{}, x_row, normed_scale);              // rms_norm
    row.store(normed, row.map(kgen::Mul{}, normed_normalised, row.load(attention_norm)));  // rms_norm
  }
};

void stub_normed(kgen::View<float, 3> normed, kgen::View<const float, 3> x, kgen::View<const float, 1> attention_norm,
                 kgen::Stream stream) {
  const stub_normed_rows body{
      x.merge<0, 1>(),
      attention_norm.broadcast_to(normed.shape()).merge<0, 1>(),
      normed.merge<0, 1>(),
  };
  kgen::rows<1, 512>(body.x.shape(), body, stream);
}

}  // namespace graph_llama_block
