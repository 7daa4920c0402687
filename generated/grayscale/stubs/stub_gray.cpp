// Written by kgen from grayscale.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_grayscale {

// gray = add(add(mul(red, 0.21), mul(green, 0.71)), mul(blue, 0.07))
// red_part, green_part, blue_part and 1 intermediate never reach memory: 32*H*W bytes of traffic saved.
struct stub_gray_elementwise {
  kgen::View<const float, 1> red;    // [H, W]
  kgen::View<const float, 1> green;  // [H, W]
  kgen::View<const float, 1> blue;   // [H, W]
  kgen::View<float, 1> gray;         // [H, W]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    const auto red_part = kgen::Mul::apply(red.load<W>(at), 0.21f);
    const auto green_part = kgen::Mul::apply(green.load<W>(at), 0.71f);
    const auto blue_part = kgen::Mul::apply(blue.load<W>(at), 0.07f);
    const auto yellow_part = kgen::Add::apply(red_part, green_part);
    gray.store(at, kgen::Add::apply(yellow_part, blue_part));
  }
};

void stub_gray(kgen::View<float, 2> gray, kgen::View<const float, 2> red, kgen::View<const float, 2> green,
               kgen::View<const float, 2> blue, kgen::Stream stream) {
  const stub_gray_elementwise body{red.merge<0, 1>(), green.merge<0, 1>(), blue.merge<0, 1>(), gray.merge<0, 1>()};
  kgen::elementwise(body.red.shape(), body, stream);
}

}  // namespace graph_grayscale
