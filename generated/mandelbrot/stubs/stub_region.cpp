// Written by kgen from mandelbrot.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/view.hpp"
#include "my_kernels/fractal.hpp"

namespace graph_mandelbrot {

// region = fractal_region(center_x, center_y, width)
void stub_region(kgen::View<fractal::Region, 0> region, kgen::View<const double, 0> center_x,
                 kgen::View<const double, 0> center_y, kgen::View<const double, 0> width, kgen::Stream stream) {
  fractal::region_around(center_x, center_y, width, region, stream);
}

}  // namespace graph_mandelbrot
