// Written by kgen from rope.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_rope {

// first, second: mul, sub, mul, add
// x1_cos, x2_sin, x2_cos and 1 intermediate never reach memory: 1024*B*H*S bytes of traffic saved.
struct stub_second_elementwise {
  kgen::View<const float, 4> x1;  // [B, S, H, 32]
  kgen::View<const float, 4> c;   // [S, 1, 32] broadcast
  kgen::View<const float, 4> x2;  // [B, S, H, 32]
  kgen::View<const float, 4> s;   // [S, 1, 32] broadcast
  kgen::View<float, 4> first;     // [B, S, H, 32]
  kgen::View<float, 4> second;    // [B, S, H, 32]

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at) const {
    const auto x1_value = x1.load<W>(at);
    const auto c_value = c.load<W>(at);
    const auto x1_cos = kgen::Mul::apply(x1_value, c_value);
    const auto x2_value = x2.load<W>(at);
    const auto s_value = s.load<W>(at);
    const auto x2_sin = kgen::Mul::apply(x2_value, s_value);
    const auto x2_cos = kgen::Mul::apply(x2_value, c_value);
    const auto x1_sin = kgen::Mul::apply(x1_value, s_value);
    first.store(at, kgen::Sub::apply(x1_cos, x2_sin));
    second.store(at, kgen::Add::apply(x2_cos, x1_sin));
  }
};

void stub_second(kgen::View<float, 4> first, kgen::View<float, 4> second, kgen::View<const float, 4> x1,
                 kgen::View<const float, 3> c, kgen::View<const float, 4> x2, kgen::View<const float, 3> s,
                 kgen::Stream stream) {
  const stub_second_elementwise body{
      x1, c.broadcast_to(first.shape()), x2, s.broadcast_to(first.shape()), first, second,
  };
  kgen::elementwise(body.x1.shape(), body, stream);
}

}  // namespace graph_rope
