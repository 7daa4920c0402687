// Written by kgen from gated_convolution.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"
#include "my_kernels/causal_conv1d.hpp"

namespace graph_gated_convolution {

// y = add(silu(add(causal_conv1d(mul(x, gate), weight), bias)), x)
// gated, mixed, biased and 1 intermediate never reach memory: 1536*B*L bytes of traffic saved.
struct stub_y_prologue_x {
  kgen::View<const kgen::bf16, 3> x;     // [B, L, 96]
  kgen::View<const kgen::bf16, 3> gate;  // [B, L, 96]

  KGEN_FN kgen::Index<3> shape() const { return x.shape(); }

  template <int W>
  KGEN_FN auto load(kgen::Index<3> at) const {
    return kgen::Mul::apply(x.load<W>(at), gate.load<W>(at));
  }
};

struct stub_y_epilogue {
  kgen::View<const kgen::bf16, 3> bias;  // [96] broadcast
  kgen::View<const kgen::bf16, 3> x;     // [B, L, 96]
  kgen::View<kgen::bf16, 3> y;           // [B, L, 96]

  template <int W>
  KGEN_FN void operator()(kgen::Index<3> at, kgen::Vec<float, W> mixed) const {
    const auto biased = kgen::Add::apply(mixed, bias.load<W>(at));
    const auto active = kgen::Silu::apply(biased);
    y.store(at, kgen::Add::apply(active, x.load<W>(at)));
  }
};

void stub_y(kgen::View<kgen::bf16, 3> y, kgen::View<const kgen::bf16, 3> x, kgen::View<const kgen::bf16, 3> gate,
            kgen::View<const kgen::bf16, 2> weight, kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream) {
  const stub_y_prologue_x prologue_x{x, gate};
  const stub_y_epilogue epilogue{bias.broadcast_to(y.shape()), x, y};
  mine::causal_conv1d(prologue_x, weight, epilogue, stream);
}

}  // namespace graph_gated_convolution
