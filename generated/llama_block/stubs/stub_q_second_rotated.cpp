// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// q_first_rotated, q_second_rotated: rope
// 4 intermediates never reach memory: 8192*B*S bytes of traffic saved.
struct stub_q_second_rotated_elementwise {
  kgen::View<const float, 4> q_first;       // [B, S, 8, 32]
  kgen::View<const float, 4> q_first_cos;   // [S, 1, 32] broadcast
  kgen::View<const float, 4> q_second;      // [B, S, 8, 32]
  kgen::View<const float, 4> q_first_sin;   // [S, 1, 32] broadcast
  kgen::View<const float, 4> q_second_cos;  // [S, 1, 32] broadcast
  kgen::View<const float, 4> q_second_sin;  // [S, 1, 32] broadcast
  kgen::View<float, 4> q_first_rotated;     // [B, S, 8, 32]
  kgen::View<float, 4> q_second_rotated;    // [B, S, 8, 32]

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at) const {
    const auto q_first_value = q_first.load<W>(at);
    const auto q_first_kept = kgen::Mul::apply(q_first_value, q_first_cos.load<W>(at));  // rope
    const auto q_second_value = q_second.load<W>(at);
    const auto q_first_turned = kgen::Mul::apply(q_second_value, q_first_sin.load<W>(at));   // rope
    const auto q_second_kept = kgen::Mul::apply(q_second_value, q_second_cos.load<W>(at));   // rope
    const auto q_second_turned = kgen::Mul::apply(q_first_value, q_second_sin.load<W>(at));  // rope
    q_first_rotated.store(at, kgen::Sub::apply(q_first_kept, q_first_turned));               // rope
    q_second_rotated.store(at, kgen::Add::apply(q_second_kept, q_second_turned));            // rope
  }
};

void stub_q_second_rotated(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                           kgen::View<const float, 4> q_first, kgen::View<const float, 3> q_first_cos,
                           kgen::View<const float, 4> q_second, kgen::View<const float, 3> q_first_sin,
                           kgen::View<const float, 3> q_second_cos, kgen::View<const float, 3> q_second_sin,
                           kgen::Stream stream) {
  const stub_q_second_rotated_elementwise body{
      q_first,
      q_first_cos.broadcast_to(q_first_rotated.shape()),
      q_second,
      q_first_sin.broadcast_to(q_first_rotated.shape()),
      q_second_cos.broadcast_to(q_first_rotated.shape()),
      q_second_sin.broadcast_to(q_first_rotated.shape()),
      q_first_rotated,
      q_second_rotated,
  };
  kgen::elementwise(body.q_first.shape(), body, stream);
}

}  // namespace graph_llama_block
