// Written by kgen from swish.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_swish {

// y = mul(x, sigmoid(x))
// gate never reaches memory: 8*M*N bytes of traffic saved.
struct stub_y_elementwise {
  kgen::View<const float, 1> x;  // [M, N]
  kgen::View<float, 1> y;        // [M, N]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    const auto x_value = x.load<W>(at);
    const auto gate = kgen::Sigmoid::apply(x_value);
    y.store(at, kgen::Mul::apply(x_value, gate));
  }
};

void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::Stream stream) {
  const stub_y_elementwise body{x.merge<0, 1>(), y.merge<0, 1>()};
  kgen::elementwise(body.x.shape(), body, stream);
}

}  // namespace graph_swish
