// Written by kgen from add_rms_norm.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "add_rms_norm.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_add_rms_norm {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t M = call.dim("M", 0, 65536, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 2>(0, {M, 1024});
  const auto residual = call.input<float, 2>(1, {M, 1024});
  const auto weight = call.input<float, 1>(2, {1024});
  const auto h = call.output<float, 2>(0, {M, 1024});
  const auto y = call.output<float, 2>(1, {M, 1024});

  stub_y(h, y, x, residual, weight, call.launch("y"));
}

}  // namespace
}  // namespace graph_add_rms_norm

const kgen_graph* kgen_graph_add_rms_norm(void) {
  static const kgen::GraphInfo graph = {
      .name = "add_rms_norm",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"M", "1024"}},
          {.name = "residual", .type = kgen::ElementType::f32, .dims = {"M", "1024"}},
          {.name = "weight", .type = kgen::ElementType::f32, .dims = {"1024"}},
      },
      .outputs{
          {.name = "h", .type = kgen::ElementType::f32, .dims = {"M", "1024"}},
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "1024"}},
      },
      .run = graph_add_rms_norm::run,
  };
  return kgen::as_c(graph);
}
