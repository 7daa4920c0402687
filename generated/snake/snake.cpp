// Written by kgen from snake.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "snake.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_snake {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 1, 64, call.input_extent(0, 0));
  const std::int64_t C = call.dim("C", 1, 512, call.input_extent(0, 1));
  const std::int64_t L = call.dim("L", 0, 4096, call.input_extent(0, 2));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 3>(0, {B, C, L});
  const auto bias = call.input<float, 2>(1, {C, 1});
  const auto alpha = call.input<float, 2>(2, {C, 1});
  const auto gain = call.input<float, 2>(3, {C, 1});
  const auto y = call.output<float, 3>(0, {B, C, L});

  stub_y(y, x, bias, alpha, gain, call.launch("y"));
}

}  // namespace
}  // namespace graph_snake

const kgen_graph* kgen_graph_snake(void) {
  static const kgen::GraphInfo graph = {
      .name = "snake",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"B", "C", "L"}},
          {.name = "bias", .type = kgen::ElementType::f32, .dims = {"C", "1"}},
          {.name = "alpha", .type = kgen::ElementType::f32, .dims = {"C", "1"}},
          {.name = "gain", .type = kgen::ElementType::f32, .dims = {"C", "1"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"B", "C", "L"}},
      },
      .run = graph_snake::run,
  };
  return kgen::as_c(graph);
}
