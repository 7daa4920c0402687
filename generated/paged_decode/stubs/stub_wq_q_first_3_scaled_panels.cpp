// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// wq_q_first_3_scaled_panels: mul, matmul
// wq_q_second_3_scaled_panels: mul, matmul
// wk_k_first_3_scaled_panels: mul, matmul
// wk_k_second_3_scaled_panels: mul, matmul
// wv_scaled_panels: mul, matmul
// wq_q_first_3_scaled, wq_q_second_3_scaled, wk_k_first_3_scaled and 2 intermediates never reach memory: 65536 bytes of
// traffic saved.
struct stub_wq_q_first_3_scaled_panels_prologue_b {
  kgen::View<const float, 2> a;  // [64, *]
  kgen::View<const float, 2> b;  // [64, 1] broadcast

  KGEN_FN kgen::Index<2> shape() const { return a.shape(); }

  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return kgen::Mul::apply(a.load<W>(at), b.load<W>(at));
  }
};

void stub_wq_q_first_3_scaled_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> a,
                                     kgen::View<const float, 2> b, kgen::Stream stream) {
  const stub_wq_q_first_3_scaled_panels_prologue_b prologue_b{a, b.broadcast_to(a.shape())};
  kgen::pack_columns(prologue_b, panels, stream);
}

}  // namespace graph_paged_decode
