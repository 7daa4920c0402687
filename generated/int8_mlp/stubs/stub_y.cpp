// Written by kgen from int8_mlp.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"
#include "my_kernels/int8_matmul.hpp"

namespace graph_int8_mlp {

// y: int8_matmul, mul, silu, mul
// gate, up, scaled_gate and 2 intermediates never reach memory; x is read once: 1792*M bytes of traffic saved.
struct stub_y_epilogue {
  kgen::View<const float, 2> gate_scale;  // [40] broadcast
  kgen::View<const float, 2> up_scale;    // [40] broadcast
  kgen::View<float, 2> y;                 // [M, 40]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> gate, kgen::Vec<float, W> up) const {
    const auto scaled_gate = kgen::Mul::apply(gate, gate_scale.load<W>(at));
    const auto scaled_up = kgen::Mul::apply(up, up_scale.load<W>(at));
    const auto activated = kgen::Silu::apply(scaled_gate);
    y.store(at, kgen::Mul::apply(activated, scaled_up));
  }
};

void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::View<const std::int8_t, 2> w_gate,
            kgen::View<const std::int8_t, 2> w_up, kgen::View<const float, 1> gate_scale,
            kgen::View<const float, 1> up_scale, kgen::Stream stream) {
  const stub_y_epilogue epilogue{gate_scale.broadcast_to(y.shape()), up_scale.broadcast_to(y.shape()), y};
  mine::int8_matmul(x, kgen::several(w_gate, w_up), epilogue, stream);
}

}  // namespace graph_int8_mlp
