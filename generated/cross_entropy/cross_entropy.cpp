// Written by kgen from cross_entropy.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "cross_entropy.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_cross_entropy {
namespace {

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t N = call.dim("N", 0, 65536, call.input_extent(0, 0));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto logits = call.input<kgen::bf16, 2>(0, {N, 32768});
  const auto target = call.input<std::int64_t, 1>(1, {N});
  const auto loss = call.output<kgen::bf16, 1>(0, {N});

  const auto loss_column = target.unsqueeze<1>();  // a view: no copy
  stub_loss(loss, loss_column, logits, call.launch("loss"));
}

}  // namespace
}  // namespace graph_cross_entropy

const kgen_graph* kgen_graph_cross_entropy(void) {
  static const kgen::GraphInfo graph = {
      .name = "cross_entropy",
      .inputs{
          {.name = "logits", .type = kgen::ElementType::bf16, .dims = {"N", "32768"}},
          {.name = "target", .type = kgen::ElementType::i64, .dims = {"N"}},
      },
      .outputs{
          {.name = "loss", .type = kgen::ElementType::bf16, .dims = {"N"}},
      },
      .run = graph_cross_entropy::run,
  };
  return kgen::as_c(graph);
}
