// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// a = add(h, matmul(attended_flat, wo))
// projected never reaches memory: 512*B*S bytes of traffic saved.
struct stub_decoder_layer_a_epilogue {
  kgen::View<const float, 2> h;  // [B, S, 64]
  kgen::View<float, 2> a;        // [B, S, 64]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> projected) const {
    a.store(at, kgen::Add::apply(h.load<W>(at), projected));
  }
};

void stub_decoder_layer_a(kgen::View<float, 3> a, kgen::View<const float, 3> attended_flat,
                          kgen::View<const float, 2> wo, kgen::View<const float, 3> h, kgen::Stream stream) {
  const stub_decoder_layer_a_epilogue epilogue{h.merge<0, 1>(), a.merge<0, 1>()};
  kgen::matmul(attended_flat.merge<0, 1>(), wo, epilogue, stream);
}

}  // namespace graph_llama_tiny
