// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// k_first_rotated, k_second_rotated: rope
// 4 intermediates never reach memory: 4096*B*S bytes of traffic saved.
struct stub_k_second_rotated_elementwise {
  kgen::View<const float, 4> k_first;       // [B, S, 4, 32]
  kgen::View<const float, 4> q_first_cos;   // [S, 1, 32] broadcast
  kgen::View<const float, 4> k_second;      // [B, S, 4, 32]
  kgen::View<const float, 4> q_first_sin;   // [S, 1, 32] broadcast
  kgen::View<const float, 4> q_second_cos;  // [S, 1, 32] broadcast
  kgen::View<const float, 4> q_second_sin;  // [S, 1, 32] broadcast
  kgen::View<float, 4> k_first_rotated;     // [B, S, 4, 32]
  kgen::View<float, 4> k_second_rotated;    // [B, S, 4, 32]

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at) const {
    const auto k_first_value = k_first.load<W>(at);
    const auto k_first_kept = kgen::Mul::apply(k_first_value, q_first_cos.load<W>(at));  // rope
    const auto k_second_value = k_second.load<W>(at);
    const auto k_first_turned = kgen::Mul::apply(k_second_value, q_first_sin.load<W>(at));   // rope
    const auto k_second_kept = kgen::Mul::apply(k_second_value, q_second_cos.load<W>(at));   // rope
    const auto k_second_turned = kgen::Mul::apply(k_first_value, q_second_sin.load<W>(at));  // rope
    k_first_rotated.store(at, kgen::Sub::apply(k_first_kept, k_first_turned));               // rope
    k_second_rotated.store(at, kgen::Add::apply(k_second_kept, k_second_turned));            // rope
  }
};

void stub_k_second_rotated(kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                           kgen::View<const float, 4> k_first, kgen::View<const float, 3> q_first_cos,
                           kgen::View<const float, 4> k_second, kgen::View<const float, 3> q_first_sin,
                           kgen::View<const float, 3> q_second_cos, kgen::View<const float, 3> q_second_sin,
                           kgen::Stream stream) {
  const stub_k_second_rotated_elementwise body{
      k_first,
      q_first_cos.broadcast_to(k_first_rotated.shape()),
      k_second,
      q_first_sin.broadcast_to(k_first_rotated.shape()),
      q_second_cos.broadcast_to(k_first_rotated.shape()),
      q_second_sin.broadcast_to(k_first_rotated.shape()),
      k_first_rotated,
      k_second_rotated,
  };
  kgen::elementwise(body.k_first.shape(), body, stream);
}

}  // namespace graph_llama_block
