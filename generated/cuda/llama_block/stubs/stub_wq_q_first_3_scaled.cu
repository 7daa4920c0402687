// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// wq_q_first_3_scaled = mul(wq_q_first_3, attention_norm_along)
// wq_q_second_3_scaled = mul(wq_q_second_3, attention_norm_along_2)
// wk_k_first_3_scaled = mul(wk_k_first_3, attention_norm_along_3)
// wk_k_second_3_scaled = mul(wk_k_second_3, attention_norm_along_4)
// wv_scaled = mul(wv, attention_norm_along_5)
// w_gate_scaled = mul(w_gate, mlp_norm_along)
// w_up_scaled = mul(w_up, mlp_norm_along_2)
struct stub_wq_q_first_3_scaled_elementwise {
  kgen::View<const float, 2> a;  // [512, *]
  kgen::View<const float, 2> b;  // [512, 1] broadcast
  kgen::View<float, 2> out;      // [512, *]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    out.store(at, kgen::Mul::apply(a.load<W>(at), b.load<W>(at)));
  }
};

void stub_wq_q_first_3_scaled(kgen::View<float, 2> out, kgen::View<const float, 2> a, kgen::View<const float, 2> b,
                              kgen::Stream stream) {
  const stub_wq_q_first_3_scaled_elementwise body{a, b.broadcast_to(out.shape()), out};
  kgen::elementwise(body.a.shape(), body, stream);
}

}  // namespace graph_llama_block
