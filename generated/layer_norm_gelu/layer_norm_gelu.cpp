// Written by kgen from layer_norm_gelu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "layer_norm_gelu.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_layer_norm_gelu {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t M = call.dim("M", 0, 65536, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 2>(0, {M, 768});
  const auto weight = call.input<float, 1>(1, {768});
  const auto bias = call.input<float, 1>(2, {768});
  const auto y = call.output<float, 2>(0, {M, 768});

  stub_y(y, x, weight, bias, call.launch("y"));
}

}  // namespace
}  // namespace graph_layer_norm_gelu

const kgen_graph* kgen_graph_layer_norm_gelu(void) {
  static const kgen::GraphInfo graph = {
      .name = "layer_norm_gelu",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"M", "768"}},
          {.name = "weight", .type = kgen::ElementType::f32, .dims = {"768"}},
          {.name = "bias", .type = kgen::ElementType::f32, .dims = {"768"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "768"}},
      },
      .run = graph_layer_norm_gelu::run,
  };
  return kgen::as_c(graph);
}
