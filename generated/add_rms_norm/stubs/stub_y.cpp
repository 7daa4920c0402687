// Written by kgen from add_rms_norm.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_add_rms_norm {

// h, y: add, rms_norm
// 5 intermediates never reach memory: 16408*M bytes of traffic saved.
struct stub_y_rows {
  kgen::View<const float, 2> x;         // [M, 1024]
  kgen::View<const float, 2> residual;  // [M, 1024]
  kgen::View<const float, 2> weight;    // [1024] broadcast
  kgen::View<float, 2> h;               // [M, 1024]
  kgen::View<float, 2> y;               // [M, 1024]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto h_row = row.keep(row.map(kgen::Add{}, row.load(x), row.load(residual)));
    const auto y_squared = row.map(kgen::Square{}, h_row);               // rms_norm
    const auto y_mean_square = row.reduce(kgen::Mean{}, y_squared);      // rms_norm
    const auto y_shifted = row.map(kgen::Add{}, y_mean_square, 1e-06f);  // rms_norm
    const auto y_scale = row.map(kgen::Rsqrt{}, y_shifted);              // rms_norm
    const auto y_normalised = row.map(kgen::Mul{}, h_row, y_scale);      // rms_norm
    row.store(h, h_row);
    row.store(y, row.map(kgen::Mul{}, y_normalised, row.load(weight)));  // rms_norm
  }
};

void stub_y(kgen::View<float, 2> h, kgen::View<float, 2> y, kgen::View<const float, 2> x,
            kgen::View<const float, 2> residual, kgen::View<const float, 1> weight, kgen::Stream stream) {
  const stub_y_rows body{x, residual, weight.broadcast_to(h.shape()), h, y};
  kgen::rows<1, 1024>(body.x.shape(), body, stream);
}

}  // namespace graph_add_rms_norm
