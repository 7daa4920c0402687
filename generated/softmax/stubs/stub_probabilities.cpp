// Written by kgen from softmax.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/view.hpp"

namespace graph_softmax {

// probabilities: mul, add, softmax
// scaled, masked and 5 intermediates never reach memory: 32*B*S*T + 24*B*S bytes of traffic saved.
struct stub_probabilities_rows {
  kgen::View<const float, 3> scores;   // [B, S, T]
  kgen::View<const float, 3> mask;     // [S, T] broadcast
  kgen::View<float, 3> probabilities;  // [B, S, T]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto scaled = row.map(kgen::Mul{}, row.load(scores), 0.125f);
    const auto masked = row.keep(row.map(kgen::Add{}, scaled, row.load(mask)));
    const auto probabilities_maximum = row.reduce(kgen::Max{}, masked);                                       // softmax
    const auto probabilities_shifted = row.map(kgen::Sub{}, masked, probabilities_maximum);                   // softmax
    const auto probabilities_exponential = row.keep(row.map(kgen::ExpNonpositive{}, probabilities_shifted));  // softmax
    const auto probabilities_total = row.reduce(kgen::Sum{}, probabilities_exponential);                      // softmax
    const auto probabilities_scale = row.map(kgen::Reciprocal{}, probabilities_total);                        // softmax
    row.store(probabilities, row.map(kgen::Mul{}, probabilities_exponential, probabilities_scale));           // softmax
  }
};

void stub_probabilities(kgen::View<float, 3> probabilities, kgen::View<const float, 3> scores,
                        kgen::View<const float, 2> mask, kgen::Stream stream) {
  const stub_probabilities_rows body{scores, mask.broadcast_to(probabilities.shape()), probabilities};
  kgen::rows<1>(body.scores.shape(), body, stream);
}

}  // namespace graph_softmax
