// Written by kgen from conv_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "conv_bias_relu.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_conv_bias_relu {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t N = call.dim("N", 0, 64, call.input_extent(0, 0));
  const std::int64_t H = call.dim("H", 1, 1024, call.input_extent(0, 1));
  const std::int64_t W = call.dim("W", 1, 1024, call.input_extent(0, 2));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 4>(0, {N, H, W, 32});
  const auto filters = call.input<float, 4>(1, {3, 3, 32, 48});
  const auto bias = call.input<float, 1>(2, {48});
  const auto y = call.output<float, 4>(0, {N, (H + 1) / 2, (W + 1) / 2, 48});

  stub_y(y, x, filters, bias, call.launch("y"));
}

}  // namespace
}  // namespace graph_conv_bias_relu

const kgen_graph* kgen_graph_conv_bias_relu(void) {
  static const kgen::GraphInfo graph = {
      .name = "conv_bias_relu",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"N", "H", "W", "32"}},
          {.name = "filters", .type = kgen::ElementType::f32, .dims = {"3", "3", "32", "48"}},
          {.name = "bias", .type = kgen::ElementType::f32, .dims = {"48"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"N", "(H + 1)/2", "(W + 1)/2", "48"}},
      },
      .run = graph_conv_bias_relu::run,
  };
  return kgen::as_c(graph);
}
