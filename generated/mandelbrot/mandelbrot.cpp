// Written by kgen from mandelbrot.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "mandelbrot.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_mandelbrot {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t H = call.dim("H", 1, 2160, call.input_scalar(3));
  const std::int64_t W = call.dim("W", 1, 3840, call.input_scalar(4));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto center_x = call.input<double, 0>(0, {});
  const auto center_y = call.input<double, 0>(1, {});
  const auto width = call.input<double, 0>(2, {});
  const auto steps = call.output<std::int32_t, 2>(0, {H, W});
  const auto shade = call.output<float, 2>(1, {H, W});

  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      32,  // region
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto region = arena.view<fractal::Region, 0>(slot[0], {});

  stub_region(region, center_x, center_y, width, call.launch("region"));
  stub_steps(steps, region, call.launch("steps"));
  stub_shade(shade, steps, call.launch("shade"));
}

}  // namespace
}  // namespace graph_mandelbrot

const kgen_graph* kgen_graph_mandelbrot(void) {
  static const kgen::GraphInfo graph = {
      .name = "mandelbrot",
      .inputs{
          {.name = "center_x", .type = kgen::ElementType::f64, .dims = {}},
          {.name = "center_y", .type = kgen::ElementType::f64, .dims = {}},
          {.name = "width", .type = kgen::ElementType::f64, .dims = {}},
          {.name = "rows", .type = kgen::ElementType::i64, .dims = {}, .on_host = true},
          {.name = "columns", .type = kgen::ElementType::i64, .dims = {}, .on_host = true},
      },
      .outputs{
          {.name = "steps", .type = kgen::ElementType::i32, .dims = {"H", "W"}},
          {.name = "shade", .type = kgen::ElementType::f32, .dims = {"H", "W"}},
      },
      .run = graph_mandelbrot::run,
  };
  return kgen::as_c(graph);
}
