// Written by kgen from softmax.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "softmax.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_softmax {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 0, 256, call.input_extent(0, 0));
  const std::int64_t S = call.dim("S", 0, 4096, call.input_extent(0, 1));
  const std::int64_t T = call.dim("T", 0, 4096, call.input_extent(0, 2));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto scores = call.input<float, 3>(0, {B, S, T});
  const auto mask = call.input<float, 2>(1, {S, T});
  const auto probabilities = call.output<float, 3>(0, {B, S, T});

  stub_probabilities(probabilities, scores, mask, call.launch("probabilities"));
}

}  // namespace
}  // namespace graph_softmax

const kgen_graph* kgen_graph_softmax(void) {
  static const kgen::GraphInfo graph = {
      .name = "softmax",
      .inputs{
          {.name = "scores", .type = kgen::ElementType::f32, .dims = {"B", "S", "T"}},
          {.name = "mask", .type = kgen::ElementType::f32, .dims = {"S", "T"}},
      },
      .outputs{
          {.name = "probabilities", .type = kgen::ElementType::f32, .dims = {"B", "S", "T"}},
      },
      .run = graph_softmax::run,
  };
  return kgen::as_c(graph);
}
