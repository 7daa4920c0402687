// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// a = add(h, packed_matmul(attended_flat, wo_panels))
// h_out = add(a, packed_matmul(hidden, w_down_panels))
// projected and down never reach memory: 1024*B*S bytes of traffic saved.
struct stub_decoder_layer_a_epilogue {
  kgen::View<const float, 2> add_a;  // [B, S, 64]
  kgen::View<float, 2> out;          // [B, S, 64]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> packed_matmul_result) const {
    out.store(at, kgen::Add::apply(add_a.load<W>(at), packed_matmul_result));
  }
};

void stub_decoder_layer_a(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
                          kgen::View<const float, 3> add_a, kgen::Stream stream) {
  const stub_decoder_layer_a_epilogue epilogue{add_a.merge<0, 1>(), out.merge<0, 1>()};
  kgen::packed_matmul(a.merge<0, 1>(), panels, /*padding=*/0, epilogue, stream);
}

}  // namespace graph_llama_decode
