// Written by kgen from matmul_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_matmul_bias_relu {

// y = relu(add(matmul(A, B), bias))
// C and sum never reach memory: 8192*M bytes of traffic saved.
struct stub_y_epilogue {
  kgen::View<const float, 2> bias;  // [512] broadcast
  kgen::View<float, 2> y;           // [M, 512]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> C) const {
    const auto sum = kgen::Add::apply(C, bias.load<W>(at));
    y.store(at, kgen::Relu::apply(sum));
  }
};

void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> A, kgen::View<const float, 2> B,
            kgen::View<const float, 1> bias, kgen::Stream stream) {
  const stub_y_epilogue epilogue{bias.broadcast_to(y.shape()), y};
  kgen::matmul(A, B, epilogue, stream);
}

}  // namespace graph_matmul_bias_relu
