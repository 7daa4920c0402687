// Stubs as the emitter writes them, for what the device compilers say of their kernels: matmul and attention.
#include "kgen/attention.hpp"
#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"

namespace stubs {

struct matmul_relu_prologue_a {
  kgen::View<const kgen::bf16, 2> x;

  KGEN_FN kgen::Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return kgen::Relu::apply(x.load<W>(at));
  }
};
struct matmul_relu_epilogue {
  kgen::View<const kgen::bf16, 2> bias;  // [N] broadcast
  kgen::View<kgen::bf16, 2> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> product) const {
    y.store(at, kgen::Relu::apply(kgen::Add::apply(product, bias.load<W>(at))));
  }
};
void matmul_relu(kgen::View<kgen::bf16, 2> y, kgen::View<const kgen::bf16, 2> x, kgen::View<const kgen::bf16, 2> w,
                 kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream) {
  const matmul_relu_epilogue epilogue{bias.broadcast_to(y.shape()), y};
  kgen::matmul(matmul_relu_prologue_a{x}, w, epilogue, stream);
}

void matmul_double(kgen::View<double, 2> y, kgen::View<const double, 2> x, kgen::View<const double, 2> w,
                   kgen::Stream stream) {
  kgen::matmul(x, w, y, stream);
}

void attention(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> q, kgen::View<const kgen::bf16, 4> k,
               kgen::View<const kgen::bf16, 4> v, kgen::View<const float, 2> mask, kgen::Stream stream) {
  kgen::attention(q, k, v, mask, 0.125, true, y, stream);
}

}  // namespace stubs
