// Written by kgen from swish.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "swish.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_swish {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t M = call.dim("M", 0, 65536, call.input_extent(0, 0));
  const std::int64_t N = call.dim("N", 0, 65536, call.input_extent(0, 1));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 2>(0, {M, N});
  const auto y = call.output<float, 2>(0, {M, N});

  stub_y(y, x, call.launch("y"));
}

}  // namespace
}  // namespace graph_swish

const kgen_graph* kgen_graph_swish(void) {
  static const kgen::GraphInfo graph = {
      .name = "swish",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"M", "N"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "N"}},
      },
      .run = graph_swish::run,
  };
  return kgen::as_c(graph);
}
