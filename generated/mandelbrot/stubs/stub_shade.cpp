// Written by kgen from mandelbrot.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/view.hpp"

namespace graph_mandelbrot {

// shade = sub(1, div(cast(steps), 200))
// count and share never reach memory: 16*H*W bytes of traffic saved.
struct stub_shade_elementwise {
  kgen::View<const std::int32_t, 1> steps;  // [H, W]
  kgen::View<float, 1> shade;               // [H, W]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    const auto count = kgen::Cast<float>::apply(steps.load<W>(at));
    const auto share = kgen::Div::apply(count, 200.0f);
    shade.store(at, kgen::Sub::apply(1.0f, share));
  }
};

void stub_shade(kgen::View<float, 2> shade, kgen::View<const std::int32_t, 2> steps, kgen::Stream stream) {
  const stub_shade_elementwise body{steps.merge<0, 1>(), shade.merge<0, 1>()};
  kgen::elementwise(body.steps.shape(), body, stream);
}

}  // namespace graph_mandelbrot
