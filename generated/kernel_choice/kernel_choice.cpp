// Written by kgen from kernel_choice.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kernel_choice.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_kernel_choice {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t S = call.dim("S", 1, 16, call.input_extent(0, 0));
  const std::int64_t M = call.dim("M", 1, 1024, call.input_extent(1, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto few = call.input<float, 2>(0, {S, 256});
  const auto many = call.input<float, 2>(1, {M, 256});
  const auto weight = call.input<float, 2>(2, {256, 192});
  const auto bias = call.input<float, 1>(3, {192});
  const auto low = call.input<kgen::bf16, 2>(4, {M, 192});
  const auto y_few = call.output<float, 2>(0, {S, 192});
  const auto y_many = call.output<float, 2>(1, {M, 192});
  const auto y_low = call.output<kgen::bf16, 2>(2, {M, 192});

  stub_y_few(y_few, few, weight, bias, call.launch("y_few"));
  stub_y_many(y_many, many, weight, call.launch("y_many"));
  stub_y_low(y_low, low, call.launch("y_low"));
}

}  // namespace
}  // namespace graph_kernel_choice

const kgen_graph* kgen_graph_kernel_choice(void) {
  static const kgen::GraphInfo graph = {
      .name = "kernel_choice",
      .inputs{
          {.name = "few", .type = kgen::ElementType::f32, .dims = {"S", "256"}},
          {.name = "many", .type = kgen::ElementType::f32, .dims = {"M", "256"}},
          {.name = "weight", .type = kgen::ElementType::f32, .dims = {"256", "192"}},
          {.name = "bias", .type = kgen::ElementType::f32, .dims = {"192"}},
          {.name = "low", .type = kgen::ElementType::bf16, .dims = {"M", "192"}},
      },
      .outputs{
          {.name = "y_few", .type = kgen::ElementType::f32, .dims = {"S", "192"}},
          {.name = "y_many", .type = kgen::ElementType::f32, .dims = {"M", "192"}},
          {.name = "y_low", .type = kgen::ElementType::bf16, .dims = {"M", "192"}},
      },
      .run = graph_kernel_choice::run,
  };
  return kgen::as_c(graph);
}
