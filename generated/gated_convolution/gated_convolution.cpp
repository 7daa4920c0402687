// Written by kgen from gated_convolution.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "gated_convolution.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_gated_convolution {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 1, 64, call.input_extent(0, 0));
  const std::int64_t L = call.dim("L", 0, 4096, call.input_extent(0, 1));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<kgen::bf16, 3>(0, {B, L, 96});
  const auto gate = call.input<kgen::bf16, 3>(1, {B, L, 96});
  const auto weight = call.input<kgen::bf16, 2>(2, {4, 96});
  const auto bias = call.input<kgen::bf16, 1>(3, {96});
  const auto y = call.output<kgen::bf16, 3>(0, {B, L, 96});

  stub_y(y, x, gate, weight, bias, call.launch("y"));
}

}  // namespace
}  // namespace graph_gated_convolution

const kgen_graph* kgen_graph_gated_convolution(void) {
  static const kgen::GraphInfo graph = {
      .name = "gated_convolution",
      .inputs{
          {.name = "x", .type = kgen::ElementType::bf16, .dims = {"B", "L", "96"}},
          {.name = "gate", .type = kgen::ElementType::bf16, .dims = {"B", "L", "96"}},
          {.name = "weight", .type = kgen::ElementType::bf16, .dims = {"4", "96"}},
          {.name = "bias", .type = kgen::ElementType::bf16, .dims = {"96"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::bf16, .dims = {"B", "L", "96"}},
      },
      .run = graph_gated_convolution::run,
  };
  return kgen::as_c(graph);
}
