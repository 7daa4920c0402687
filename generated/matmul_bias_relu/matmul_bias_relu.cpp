// Written by kgen from matmul_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "matmul_bias_relu.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_matmul_bias_relu {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t M = call.dim("M", 1, 8192, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto A = call.input<float, 2>(0, {M, 512});
  const auto B = call.input<float, 2>(1, {512, 512});
  const auto bias = call.input<float, 1>(2, {512});
  const auto y = call.output<float, 2>(0, {M, 512});

  stub_y(y, A, B, bias, call.launch("y"));
}

}  // namespace
}  // namespace graph_matmul_bias_relu

const kgen_graph* kgen_graph_matmul_bias_relu(void) {
  static const kgen::GraphInfo graph = {
      .name = "matmul_bias_relu",
      .inputs{
          {.name = "A", .type = kgen::ElementType::f32, .dims = {"M", "512"}},
          {.name = "B", .type = kgen::ElementType::f32, .dims = {"512", "512"}},
          {.name = "bias", .type = kgen::ElementType::f32, .dims = {"512"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "512"}},
      },
      .run = graph_matmul_bias_relu::run,
  };
  return kgen::as_c(graph);
}
