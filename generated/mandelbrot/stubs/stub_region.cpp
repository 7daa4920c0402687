// Written by kgen 0.1.0: kgen plan mandelbrot.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is acb43b1dddaa4cec.

#include "kgen/view.hpp"
#include "my_kernels/fractal.hpp"

namespace mandelbrot {

// region = fractal_region(center_x, center_y, width)   (mandelbrot.yaml:14)
void stub_region(kgen::View<fractal::Region, 0> region, kgen::View<const double, 0> center_x,
                 kgen::View<const double, 0> center_y, kgen::View<const double, 0> width, kgen::Stream stream) {
  fractal::region_around(center_x, center_y, width, region, stream);
}

}  // namespace mandelbrot
