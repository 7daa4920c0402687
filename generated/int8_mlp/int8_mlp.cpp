// Written by kgen from int8_mlp.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "int8_mlp.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_int8_mlp {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t M = call.dim("M", 1, 64, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 2>(0, {M, 48});
  const auto w_gate = call.input<std::int8_t, 2>(1, {48, 40});
  const auto w_up = call.input<std::int8_t, 2>(2, {48, 40});
  const auto gate_scale = call.input<float, 1>(3, {40});
  const auto up_scale = call.input<float, 1>(4, {40});
  const auto y = call.output<float, 2>(0, {M, 40});

  stub_y(y, x, w_gate, w_up, gate_scale, up_scale, call.launch("y"));
}

}  // namespace
}  // namespace graph_int8_mlp

const kgen_graph* kgen_graph_int8_mlp(void) {
  static const kgen::GraphInfo graph = {
      .name = "int8_mlp",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"M", "48"}},
          {.name = "w_gate", .type = kgen::ElementType::i8, .dims = {"48", "40"}},
          {.name = "w_up", .type = kgen::ElementType::i8, .dims = {"48", "40"}},
          {.name = "gate_scale", .type = kgen::ElementType::f32, .dims = {"40"}},
          {.name = "up_scale", .type = kgen::ElementType::f32, .dims = {"40"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "40"}},
      },
      .run = graph_int8_mlp::run,
  };
  return kgen::as_c(graph);
}
