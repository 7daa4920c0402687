// Written by kgen 0.1.0: kgen plan mandelbrot.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 16cba9a471c75742.

#include "kgen/view.hpp"
#include "my_kernels/fractal.hpp"

namespace mandelbrot {

// steps = mandelbrot(region)   (mandelbrot.yaml:15)
void stub_steps(kgen::View<std::int32_t, 2> steps, kgen::View<const fractal::Region, 0> region, kgen::Stream stream) {
  fractal::mandelbrot(region, /*iterations=*/200, steps, stream);
}

}  // namespace mandelbrot
