// Written by kgen from mandelbrot.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/view.hpp"
#include "my_kernels/fractal.hpp"

namespace graph_mandelbrot {

// steps = mandelbrot(region)
void stub_steps(kgen::View<std::int32_t, 2> steps, kgen::View<const fractal::Region, 0> region, kgen::Stream stream) {
  fractal::mandelbrot(region, /*iterations=*/200, steps, stream);
}

}  // namespace graph_mandelbrot
