// Written by kgen from swiglu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "swiglu.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_swiglu {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t M = call.dim("M", 0, 65536, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto gate_up = call.input<float, 2>(0, {M, 2752});
  const auto y = call.output<float, 2>(0, {M, 1376});

  const auto gate = gate_up.slice<1>(0, 1376);   // a view: no copy
  const auto up = gate_up.slice<1>(1376, 1376);  // a view: no copy
  stub_y(y, gate, up, call.launch("y"));
}

}  // namespace
}  // namespace graph_swiglu

const kgen_graph* kgen_graph_swiglu(void) {
  static const kgen::GraphInfo graph = {
      .name = "swiglu",
      .inputs{
          {.name = "gate_up", .type = kgen::ElementType::f32, .dims = {"M", "2752"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "1376"}},
      },
      .run = graph_swiglu::run,
  };
  return kgen::as_c(graph);
}
