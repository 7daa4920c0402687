// Stubs as the emitter writes them, for what the device compilers say of their kernels: elementwise.
#include "kgen/elementwise.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"

namespace stubs {

struct silu_elementwise {
  kgen::View<const kgen::bf16, 1> x;
  kgen::View<kgen::bf16, 1> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    y.store(at, kgen::Silu::apply(x.load<W>(at)));
  }
};
void silu(kgen::View<kgen::bf16, 2> y, kgen::View<const kgen::bf16, 2> x, kgen::Stream stream) {
  const silu_elementwise body{x.merge<0, 1>(), y.merge<0, 1>()};
  kgen::elementwise(body.x.shape(), body, stream);
}

struct bias_gelu_residual_elementwise {
  kgen::View<const kgen::bf16, 2> x;
  kgen::View<const kgen::bf16, 2> bias;  // [N] broadcast
  kgen::View<const kgen::bf16, 2> residual;
  kgen::View<kgen::bf16, 2> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    const auto activated = kgen::Gelu::apply(kgen::Add::apply(x.load<W>(at), bias.load<W>(at)));
    y.store(at, kgen::Add::apply(activated, residual.load<W>(at)));
  }
};
void bias_gelu_residual(kgen::View<kgen::bf16, 2> y, kgen::View<const kgen::bf16, 2> x,
                        kgen::View<const kgen::bf16, 1> bias, kgen::View<const kgen::bf16, 2> residual,
                        kgen::Stream stream) {
  const bias_gelu_residual_elementwise body{x, bias.broadcast_to(y.shape()), residual, y};
  kgen::elementwise(body.x.shape(), body, stream);
}

struct transpose_relu_elementwise {
  kgen::View<const kgen::bf16, 2> x;  // permuted
  kgen::View<const kgen::bf16, 2> bias;
  kgen::View<kgen::bf16, 2> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    y.store(at, kgen::Relu::apply(kgen::Add::apply(x.load<W>(at), bias.load<W>(at))));
  }
};
void transpose_relu(kgen::View<kgen::bf16, 2> y, kgen::View<const kgen::bf16, 2> x,
                    kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream) {
  const transpose_relu_elementwise body{x.permute<1, 0>(), bias.broadcast_to(y.shape()), y};
  kgen::elementwise_across(y.shape(), body, stream);
}

}  // namespace stubs
