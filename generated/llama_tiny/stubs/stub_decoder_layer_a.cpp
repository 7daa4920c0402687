// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// a = add(h, matmul(attended_flat, wo))
// h_out = add(a, matmul(hidden, w_down))
// projected and down never reach memory: 1024*B*S bytes of traffic saved.
struct stub_decoder_layer_a_epilogue {
  kgen::View<const float, 2> add_a;  // [B, S, 64]
  kgen::View<float, 2> out;          // [B, S, 64]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> matmul_result) const {
    out.store(at, kgen::Add::apply(add_a.load<W>(at), matmul_result));
  }
};

void stub_decoder_layer_a(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
                          kgen::View<const float, 3> add_a, kgen::Stream stream) {
  const stub_decoder_layer_a_epilogue epilogue{add_a.merge<0, 1>(), out.merge<0, 1>()};
  kgen::matmul(a.merge<0, 1>(), b, epilogue, stream);
}

}  // namespace graph_llama_tiny
