// Two opaque kernels, plain functions on views, and the struct that one hands to the other.
#pragma once

#include <cstdint>

#include "kgen/introspect.hpp"
#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace fractal {

// A rectangle of the complex plane: the corner of least real and imaginary part, and its extents.
struct Region {
  double left, bottom, width, height;
};

// The square around a centre.
KGEN_KERNEL(fractal_region)
inline void region_around(kgen::View<const double, 0> x, kgen::View<const double, 0> y,
                          kgen::View<const double, 0> width, kgen::View<Region, 0> region, kgen::Stream) {
  const double side = *width.data();
  *region.data() = {*x.data() - side / 2, *y.data() - side / 2, side, side};
}

// How many steps of z = z^2 + c from z = 0 stay within |z| <= 2.
inline std::int32_t steps_within(double real, double imaginary, int iterations) {
  double x = 0, y = 0;
  for (std::int32_t step = 0; step < iterations; ++step) {
    if (x * x + y * y > 4) return step;
    const double next = x * x - y * y + real;
    y = 2 * x * y + imaginary;
    x = next;
  }
  return iterations;
}

// The rows of `out` go from the region's top to its bottom, one pixel for each element.
KGEN_KERNEL(mandelbrot)
inline void mandelbrot(kgen::View<const Region, 0> region, int iterations, kgen::View<std::int32_t, 2> out,
                       kgen::Stream) {
  const Region& seen = *region.data();
  const std::int64_t rows = out.extent(0), columns = out.extent(1);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t row = 0; row < rows; ++row) {
    const double imaginary =
        seen.bottom + seen.height * (static_cast<double>(rows - row) - 0.5) / static_cast<double>(rows);
    for (std::int64_t column = 0; column < columns; ++column) {
      const double real = seen.left + seen.width * (static_cast<double>(column) + 0.5) / static_cast<double>(columns);
      out.data()[row * out.stride(0) + column * out.stride(1)] = steps_within(real, imaginary, iterations);
    }
  }
}

}  // namespace fractal
