// Written by kgen from layer_norm_gelu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_layer_norm_gelu {

// y: layer_norm, gelu
// 9 intermediates never reach memory: 30752*M bytes of traffic saved.
struct stub_y_rows {
  kgen::View<const float, 2> x;       // [M, 768]
  kgen::View<const float, 2> weight;  // [768] broadcast
  kgen::View<const float, 2> bias;    // [768] broadcast
  kgen::View<float, 2> y;             // [M, 768]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto normed_mean = row.reduce(kgen::Mean{}, x_row);                                // layer_norm
    const auto normed_centred = row.keep(row.map(kgen::Sub{}, x_row, normed_mean));          // layer_norm
    const auto normed_squared = row.map(kgen::Square{}, normed_centred);                     // layer_norm
    const auto normed_variance = row.reduce(kgen::Mean{}, normed_squared);                   // layer_norm
    const auto normed_shifted = row.map(kgen::Add{}, normed_variance, 1e-05f);               // layer_norm
    const auto normed_scale = row.map(kgen::Rsqrt{}, normed_shifted);                        // layer_norm
    const auto normed_normalised = row.map(kgen::Mul{}, normed_centred, normed_scale);       // layer_norm
    const auto normed_weighted = row.map(kgen::Mul{}, normed_normalised, row.load(weight));  // layer_norm
    const auto normed = row.map(kgen::Add{}, normed_weighted, row.load(bias));               // layer_norm
    row.store(y, row.map(kgen::Gelu{}, normed));
  }
};

void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::View<const float, 1> weight,
            kgen::View<const float, 1> bias, kgen::Stream stream) {
  const stub_y_rows body{x, weight.broadcast_to(y.shape()), bias.broadcast_to(y.shape()), y};
  kgen::rows<1, 768>(body.x.shape(), body, stream);
}

}  // namespace graph_layer_norm_gelu
