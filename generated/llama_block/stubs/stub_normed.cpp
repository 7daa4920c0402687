// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// normed: rms_norm
// h_normed: rms_norm
// 10 intermediates never reach memory: 16432*B*S bytes of traffic saved.
struct stub_normed_rows {
  kgen::View<const float, 2> x;       // [B, S, 512]
  kgen::View<const float, 2> weight;  // [512] broadcast
  kgen::View<float, 2> out;           // [B, S, 512]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto squared = row.map(kgen::Square{}, x_row);                 // rms_norm
    const auto mean_square = row.reduce(kgen::Mean{}, squared);          // rms_norm
    const auto shifted = row.map(kgen::Add{}, mean_square, 1e-05f);      // rms_norm
    const auto scale = row.map(kgen::Rsqrt{}, shifted);                  // rms_norm
    const auto normalised = row.map(kgen::Mul{}, x_row, scale);          // rms_norm
    row.store(out, row.map(kgen::Mul{}, normalised, row.load(weight)));  // rms_norm
  }
};

void stub_normed(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::View<const float, 1> weight,
                 kgen::Stream stream) {
  const stub_normed_rows body{x.merge<0, 1>(), weight.broadcast_to(out.shape()).merge<0, 1>(), out.merge<0, 1>()};
  kgen::rows<1, 512>(body.x.shape(), body, stream);
}

}  // namespace graph_llama_block
