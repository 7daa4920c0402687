// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// normed_scale: rms_norm   (in decoder_layer)
// a_normed_scale: rms_norm   (in decoder_layer)
// h_normed_scale: rms_norm   (in llama_decode)
// 9 intermediates never reach memory: 1584*B*S bytes of traffic saved.
struct stub_decoder_layer_normed_scale_rows {
  kgen::View<const float, 2> x;  // [B, S, 64]
  kgen::View<float, 2> scale;    // [B, S, 1]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto squared = row.map(kgen::Square{}, row.load(x));       // rms_norm
    const auto mean_square = row.reduce(kgen::Mean{}, squared);      // rms_norm
    const auto shifted = row.map(kgen::Add{}, mean_square, 1e-05f);  // rms_norm
    row.store_scalar(scale, row.map(kgen::Rsqrt{}, shifted));        // rms_norm
  }
};

void stub_decoder_layer_normed_scale(kgen::View<float, 3> scale, kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_decoder_layer_normed_scale_rows body{x.merge<0, 1>(), scale.merge<0, 1>()};
  kgen::rows<1, 64>(body.x.shape(), body, stream);
}

}  // namespace graph_llama_decode
