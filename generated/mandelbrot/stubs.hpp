// Written by kgen from mandelbrot.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of mandelbrot, each in stubs/<name>.cpp.
#pragma once

#include <type_traits>

#include "kgen/stream.hpp"
#include "kgen/view.hpp"
#include "my_kernels/fractal.hpp"

// The memory of structs was laid out as they are declared. Where one of these fails, correct the declaration.
static_assert(sizeof(fractal::Region) == 32, "fractal::Region has 32 bytes: my_ops.yaml");
static_assert(alignof(fractal::Region) == 8, "fractal::Region is aligned to 8 bytes: my_ops.yaml");
static_assert(std::is_trivially_copyable_v<fractal::Region>, "fractal::Region is copied as bytes: my_ops.yaml");

namespace graph_mandelbrot {

// region = fractal_region(center_x, center_y, width)
void stub_region(kgen::View<fractal::Region, 0> region, kgen::View<const double, 0> center_x,
                 kgen::View<const double, 0> center_y, kgen::View<const double, 0> width, kgen::Stream stream);

// steps = mandelbrot(region)
void stub_steps(kgen::View<std::int32_t, 2> steps, kgen::View<const fractal::Region, 0> region, kgen::Stream stream);

// shade = sub(1, div(cast(steps), 200))
void stub_shade(kgen::View<float, 2> shade, kgen::View<const std::int32_t, 2> steps, kgen::Stream stream);

}  // namespace graph_mandelbrot
