// Written by kgen 0.1.0: kgen plan swiglu.yaml --target cpu
// Edit it as you like: `kgen plan` never overwrites an edited file. As written, its content is b197668a10dd12a8.
#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace swiglu {

// y: silu, mul   (swiglu.yaml:10-11)
// 2 intermediates never reach memory: 22016*M bytes of traffic saved.
struct stub_y_elementwise {
  kgen::View<const float, 2> gate;  // [M, 1376]
  kgen::View<const float, 2> up;    // [M, 1376]
  kgen::View<float, 2> y;           // [M, 1376]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    const auto gate_value = gate.load<W>(at);
    const auto activated_gate = kgen::Sigmoid::apply(gate_value);         // :10 silu
    const auto activated = kgen::Mul::apply(gate_value, activated_gate);  // :10 silu
    y.store(at, kgen::Mul::apply(activated, up.load<W>(at)));             // :11
  }
};

void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> gate, kgen::View<const float, 2> up,
            kgen::Stream stream) {
  const stub_y_elementwise body{gate, up, y};
  kgen::elementwise(body.gate.shape(), body, stream);
}

}  // namespace swiglu
