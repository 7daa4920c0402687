// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// normed_scale: rms_norm
// 3 intermediates never reach memory: 528*B*S bytes of traffic saved.
struct stub_normed_scale_rows {
  kgen::View<const float, 2> x;       // [B, S, 64]
  kgen::View<float, 2> normed_scale;  // [B, S, 1]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto normed_squared = row.map(kgen::Square{}, row.load(x));              // rms_norm
    const auto normed_mean_square = row.reduce(kgen::Mean{}, normed_squared);      // rms_norm
    const auto normed_shifted = row.map(kgen::Add{}, normed_mean_square, 1e-05f);  // rms_norm
    row.store_scalar(normed_scale, row.map(kgen::Rsqrt{}, normed_shifted));        // rms_norm
  }
};

void stub_normed_scale(kgen::View<float, 3> normed_scale, kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_normed_scale_rows body{x.merge<0, 1>(), normed_scale.merge<0, 1>()};
  kgen::rows<1, 64>(body.x.shape(), body, stream);
}

}  // namespace graph_paged_decode
