// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// q: rope
// k: rope
// 8 intermediates never reach memory: 1536*B*S bytes of traffic saved.
struct stub_decoder_layer_q_elementwise {
  kgen::View<const float, 4> first;       // [B, S, *, 8]
  kgen::View<const float, 4> first_cos;   // [S, 1, 8] broadcast
  kgen::View<const float, 4> second;      // [B, S, *, 8]
  kgen::View<const float, 4> first_sin;   // [S, 1, 8] broadcast
  kgen::View<const float, 4> second_cos;  // [S, 1, 8] broadcast
  kgen::View<const float, 4> second_sin;  // [S, 1, 8] broadcast
  kgen::View<float, 4> first_rotated;     // [B, S, *, 8]
  kgen::View<float, 4> second_rotated;    // [B, S, *, 8]

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at) const {
    const auto first_value = first.load<W>(at);
    const auto first_kept = kgen::Mul::apply(first_value, first_cos.load<W>(at));  // rope
    const auto second_value = second.load<W>(at);
    const auto first_turned = kgen::Mul::apply(second_value, first_sin.load<W>(at));   // rope
    const auto second_kept = kgen::Mul::apply(second_value, second_cos.load<W>(at));   // rope
    const auto second_turned = kgen::Mul::apply(first_value, second_sin.load<W>(at));  // rope
    first_rotated.store(at, kgen::Sub::apply(first_kept, first_turned));               // rope
    second_rotated.store(at, kgen::Add::apply(second_kept, second_turned));            // rope
  }
};

void stub_decoder_layer_q(kgen::View<float, 4> first_rotated, kgen::View<float, 4> second_rotated,
                          kgen::View<const float, 4> x, kgen::View<const float, 3> cos, kgen::View<const float, 3> sin,
                          kgen::Stream stream) {
  const stub_decoder_layer_q_elementwise body{
      x.slice<3>(0, 8),
      cos.slice<2>(0, 8).broadcast_to(first_rotated.shape()),
      x.slice<3>(8, 8),
      sin.slice<2>(0, 8).broadcast_to(first_rotated.shape()),
      cos.slice<2>(8, 8).broadcast_to(first_rotated.shape()),
      sin.slice<2>(8, 8).broadcast_to(first_rotated.shape()),
      first_rotated,
      second_rotated,
  };
  kgen::elementwise(body.first.shape(), body, stream);
}

}  // namespace graph_llama_tiny
