// Written by kgen 0.1.0: kgen plan swiglu.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 536a0764d4887ebe.

#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace swiglu {

// y = mul(silu(gate), up)   (swiglu.yaml:10-11)
// activated never reaches memory: 11008*M bytes of traffic saved.
struct stub_y_elementwise {
  kgen::View<const float, 2> gate;  // [M, 1376]
  kgen::View<const float, 2> up;    // [M, 1376]
  kgen::View<float, 2> y;           // [M, 1376]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    const auto activated = kgen::Silu::apply(gate.load<W>(at));  // :10
    y.store(at, kgen::Mul::apply(activated, up.load<W>(at)));    // :11
  }
};

void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> gate, kgen::View<const float, 2> up,
            kgen::Stream stream) {
  const stub_y_elementwise body{gate, up, y};
  kgen::elementwise(body.gate.shape(), body, stream);
}

}  // namespace swiglu
