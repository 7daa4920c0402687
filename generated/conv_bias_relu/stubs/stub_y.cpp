// Written by kgen from conv_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/convolution.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_conv_bias_relu {

// y = relu(add(conv2d(x, filters), bias))
// features and sum never reach memory: 768*((H + 1)/2)*((W + 1)/2)*N bytes of traffic saved.
struct stub_y_epilogue {
  kgen::View<const float, 4> bias;  // [48] broadcast
  kgen::View<float, 4> y;           // [N, (H + 1)/2, (W + 1)/2, 48]

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at, kgen::Vec<float, W> features) const {
    const auto sum = kgen::Add::apply(features, bias.load<W>(at));
    y.store(at, kgen::Relu::apply(sum));
  }
};

void stub_y(kgen::View<float, 4> y, kgen::View<const float, 4> x, kgen::View<const float, 4> filters,
            kgen::View<const float, 1> bias, kgen::Stream stream) {
  const stub_y_epilogue epilogue{bias.broadcast_to(y.shape()), y};
  kgen::conv2d(x, filters, /*strides=*/{2, 2}, /*pads=*/{1, 1, 1, 1}, /*dilations=*/{1, 1}, /*group=*/1, epilogue,
               stream);
}

}  // namespace graph_conv_bias_relu
