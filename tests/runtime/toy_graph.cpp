#include "toy_graph.hpp"

#include <cstdint>

#include "kgen/elementwise.hpp"
#include "kgen/runtime/call.hpp"

namespace toy {

float error_of_stub_y = 0;

namespace {

// result = factor * a + b
template <int R>
struct ScaleAdd {
  kgen::View<const float, R> a;
  kgen::View<const float, R> b;
  float factor;
  float error;
  kgen::View<float, R> result;

  template <int W>
  KGEN_FN void operator()(kgen::Index<R> at) const {
    const auto scaled = a.template load<W>(at) * kgen::Vec<float, W>(factor);
    result.store(at, scaled + b.template load<W>(at) + kgen::Vec<float, W>(error));
  }
};

template <int R>
void scale_add(kgen::View<float, R> result, kgen::View<const float, R> a, kgen::View<const float, R> b, float factor,
               float error, kgen::Stream stream) {
  kgen::elementwise(result.shape(), ScaleAdd<R>{a, b, factor, error, result}, stream);
}

void load(kgen::Call& call) {
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto weight = call.constant<float, 1>(1, i);
    const auto doubled = call.persistent<float, 1>(0, i);
    scale_add<1>(doubled, weight, weight, 1, 0, call.launch("stub_doubled"));
  }
}

void check_stub_y(kgen::Call& call, kgen::View<const float, 2> y, kgen::View<const float, 2> x,
                  kgen::View<const float, 2> gate, float scale) {
  const auto scope = call.scratch_scope();
  const auto reference = call.scratch<float, 2>(y.shape());
  scale_add<2>(reference, x, gate, scale, 0, call.stream());
  call.compare("stub_y", "add", "toy.yaml:12", y, reference);
}

void run(kgen::Call& call) {
  const std::int64_t M = call.dim("M", 1, 8, call.input_extent(0, 0));
  const std::int64_t D = call.dim("D", 0, 4, call.input_extent(0, 1) / 2);
  const std::int64_t P = call.dim("P", 0, 6, call.input_scalar(3));
  call.require(P + 2 * D, 8, "total: the update must end within axis 1");

  const auto x = call.input<float, 2>(0, {M, 2 * D});
  const auto gate = call.strided_input<float, 2>(1, {M, 2 * D});
  call.input<bool, 1>(2, {6});
  const auto y = call.output<float, 2>(0, {M, 2 * D});
  const auto sum = call.output<float, 1>(1, {6});

  const auto scale = call.constant<float, 0>(0);
  const auto total = call.state<float, 2>(0, {M, 8});
  const auto runs = call.state<std::int64_t, 1>(1, {2}, 1);
  const auto doubled_0 = call.persistent<float, 1>(0, 0);
  const auto doubled_1 = call.persistent<float, 1>(0, 1);

  const auto slot = kgen::lay_out({M * 2 * D * 4, 24});
  const kgen::Arena arena = call.arena(slot.total);
  const auto copy = arena.view<float, 2>(slot[0], {M, 2 * D});
  const auto carried = arena.part(slot[1]).view<float, 1>(0, {6});

  scale_add<2>(y, x, gate, *scale.data(), error_of_stub_y, call.launch("stub_y"));
  if (call.checking()) check_stub_y(call, y, x, gate, *scale.data());
  const auto part = total.slice<1>(P, 2 * D);
  scale_add<2>(copy, part, y, 1, 0, call.launch("stub_total"));
  scale_add<2>(part, copy, copy, 0, 0, call.launch("stub_total"));
  scale_add<1>(carried, doubled_0, doubled_0, 0, 0, call.launch("stub_sum"));
  scale_add<1>(sum, doubled_1, carried, 1, 0, call.launch("stub_sum"));
  ++runs.data()[1];
}

}  // namespace

kgen::GraphInfo graph() {
  return {
      .name = "toy",
      .inputs = {{.name = "x", .type = kgen::ElementType::f32, .dims = {"M", "2*D"}},
                 {.name = "gate", .type = kgen::ElementType::f32, .dims = {"M", "2*D"}, .strided = true},
                 {.name = "mask", .type = kgen::ElementType::boolean, .dims = {"6"}},
                 {.name = "position", .type = kgen::ElementType::i64, .dims = {}}},
      .outputs = {{.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "2*D"}},
                  {.name = "sum", .type = kgen::ElementType::f32, .dims = {"6"}}},
      .constants = {{.name = "scale", .type = kgen::ElementType::f32, .shape = {}, .values = {0.5}},
                    {.name = "layer.weight",
                     .type = kgen::ElementType::f32,
                     .shape = {6},
                     .file = "weights.safetensors",
                     .key = "layers.{index}.weight",
                     .calls = 2}},
      .states = {{.name = "total", .type = kgen::ElementType::f32, .shape = {8, 8}},
                 {.name = "layer.runs", .type = kgen::ElementType::i64, .shape = {2}, .calls = 2}},
      .persistents = {{.name = "layer.doubled", .type = kgen::ElementType::f32, .shape = {6}, .calls = 2}},
      .load = load,
      .run = run,
      .checkable = true,
  };
}

}  // namespace toy

const kgen_graph* kgen_graph_toy(void) {
  static const kgen::GraphInfo graph = toy::graph();
  return kgen::as_c(graph);
}
