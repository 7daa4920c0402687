// Written by kgen from beams.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "beams.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_beams {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t S = call.dim("S", 1, 4096, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto signal_real = call.input<float, 2>(0, {S, 48});
  const auto signal_imaginary = call.input<float, 2>(1, {S, 48});
  const auto window = call.input<float, 1>(2, {48});
  const auto steering_real = call.input<float, 2>(3, {48, 20});
  const auto steering_imaginary = call.input<float, 2>(4, {48, 20});
  const auto offset = call.input<float, 1>(5, {20});
  const auto in_phase = call.output<float, 2>(0, {S, 20});
  const auto power = call.output<float, 2>(1, {S, 20});

  stub_power(in_phase, power, signal_real, window, signal_imaginary, steering_real, steering_imaginary, offset,
             call.launch("power"));
}

}  // namespace
}  // namespace graph_beams

const kgen_graph* kgen_graph_beams(void) {
  static const kgen::GraphInfo graph = {
      .name = "beams",
      .inputs{
          {.name = "signal_real", .type = kgen::ElementType::f32, .dims = {"S", "48"}},
          {.name = "signal_imaginary", .type = kgen::ElementType::f32, .dims = {"S", "48"}},
          {.name = "window", .type = kgen::ElementType::f32, .dims = {"48"}},
          {.name = "steering_real", .type = kgen::ElementType::f32, .dims = {"48", "20"}},
          {.name = "steering_imaginary", .type = kgen::ElementType::f32, .dims = {"48", "20"}},
          {.name = "offset", .type = kgen::ElementType::f32, .dims = {"20"}},
      },
      .outputs{
          {.name = "in_phase", .type = kgen::ElementType::f32, .dims = {"S", "20"}},
          {.name = "power", .type = kgen::ElementType::f32, .dims = {"S", "20"}},
      },
      .run = graph_beams::run,
  };
  return kgen::as_c(graph);
}
