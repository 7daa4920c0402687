// Written by kgen from grayscale.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "grayscale.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_grayscale {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t H = call.dim("H", 0, 16384, call.input_extent(0, 1));
  const std::int64_t W = call.dim("W", 0, 16384, call.input_extent(0, 2));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto image = call.input<float, 3>(0, {3, H, W});
  const auto gray = call.output<float, 2>(0, {H, W});

  const auto red = image.select<0>(0);    // a view: no copy
  const auto green = image.select<0>(1);  // a view: no copy
  const auto blue = image.select<0>(2);   // a view: no copy
  stub_gray(gray, red, green, blue, call.launch("gray"));
}

}  // namespace
}  // namespace graph_grayscale

const kgen_graph* kgen_graph_grayscale(void) {
  static const kgen::GraphInfo graph = {
      .name = "grayscale",
      .inputs{
          {.name = "image", .type = kgen::ElementType::f32, .dims = {"3", "H", "W"}},
      },
      .outputs{
          {.name = "gray", .type = kgen::ElementType::f32, .dims = {"H", "W"}},
      },
      .run = graph_grayscale::run,
  };
  return kgen::as_c(graph);
}
