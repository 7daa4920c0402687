// Written by kgen from rope.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "rope.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_rope {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 0, 64, call.input_extent(0, 0));
  const std::int64_t S = call.dim("S", 0, 8192, call.input_extent(0, 1));
  const std::int64_t H = call.dim("H", 1, 128, call.input_extent(0, 2));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 4>(0, {B, S, H, 64});
  const auto cos = call.input<float, 2>(1, {S, 32});
  const auto sin = call.input<float, 2>(2, {S, 32});
  const auto y = call.output<float, 4>(0, {B, S, H, 64});

  const auto first = y.slice<3>(0, 32);    // written in place
  const auto second = y.slice<3>(32, 32);  // written in place
  const auto x1 = x.slice<3>(0, 32);       // a view: no copy
  const auto c = cos.unsqueeze<1>();       // a view: no copy
  const auto x2 = x.slice<3>(32, 32);      // a view: no copy
  const auto s = sin.unsqueeze<1>();       // a view: no copy
  stub_second(first, second, x1, c, x2, s, call.launch("second"));
}

}  // namespace
}  // namespace graph_rope

const kgen_graph* kgen_graph_rope(void) {
  static const kgen::GraphInfo graph = {
      .name = "rope",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"B", "S", "H", "64"}},
          {.name = "cos", .type = kgen::ElementType::f32, .dims = {"S", "32"}},
          {.name = "sin", .type = kgen::ElementType::f32, .dims = {"S", "32"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"B", "S", "H", "64"}},
      },
      .run = graph_rope::run,
      .device = &kgen::hip::device,
  };
  return kgen::as_c(graph);
}
