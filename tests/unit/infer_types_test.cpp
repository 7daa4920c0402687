// Types, shapes and attributes of nodes that are right.
#include <cmath>

#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/node_expression.hpp"
#include "tests/unit/infer_fixture.hpp"

namespace kgen {
namespace {

using test::infer_good;

std::vector<std::string> results_in_order(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(graph.value(node.outputs[0]).name);
  return names;
}

TEST_CASE("elementwise operators broadcast as NumPy does") {
  const auto graph = infer_good(R"(
graph: g
dims: {M: 1..8, N: 2..9}
inputs: {matrix: "f32[M, N]", row: "f32[N]", column: "f32[M, 1]", scalar: "f32[]", one: "f32[1, 1, 1]", empty: "f32[0]"}
nodes:
- {op: add, in: [matrix, row], out: a}
- {op: mul, in: [column, row], out: b}
- {op: sub, in: [scalar, matrix], out: c}
- {op: add, in: [one, matrix], out: d}
- {op: add, in: [scalar, scalar], out: e}
- {op: less, in: [matrix, 0.5], out: f}
- {op: where, in: [f, row, column], out: g1}
- {op: relu, in: empty, out: h}
- {op: add, in: [empty, one], out: i}
outputs: [a, b, c, d, e, g1, h, i]
)");
  CHECK(graph.type("a") == "f32[M, N]");
  CHECK(graph.type("b") == "f32[M, N]");
  CHECK(graph.type("c") == "f32[M, N]");
  CHECK(graph.type("d") == "f32[1, M, N]");
  CHECK(graph.type("e") == "f32[]");
  CHECK(graph.type("f") == "bool[M, N]");
  CHECK(graph.type("g1") == "f32[M, N]");
  CHECK(graph.type("h") == "f32[0]");
  CHECK(graph.type("i") == "f32[1, 1, 0]");
  CHECK(std::holds_alternative<Elementwise>(graph.node("a").kind));
}

TEST_CASE("a number takes the dtype of the other operands") {
  const auto graph = infer_good(R"(
graph: g
inputs: {x: "bf16[4]", n: "i8[4]", b: "bool[4]", w: "f64[4]"}
nodes:
- {op: add, in: [x, 0.5], out: p}
- {op: maximum, in: [-128, n], out: q}
- {op: logical_or, in: [b, 1], out: r}
- {op: where, in: [b, .inf, 0], out: s}
- {op: mul, in: [w, 1.0e+300], out: t}
- {op: where, in: [b, 0, x], out: u}
outputs: [p, q, r, s, t, u]
)");
  const auto dtype_of_operand = [&](std::string_view result, std::size_t operand) {
    return graph.module.main.type(graph.node(result).inputs[operand]).dtype;
  };
  CHECK(graph.type("p") == "bf16[4]");
  CHECK(dtype_of_operand("p", 1) == DType::bf16);
  CHECK(dtype_of_operand("q", 0) == DType::i8);
  CHECK(dtype_of_operand("r", 1) == DType::boolean);
  CHECK(graph.type("s") == "f32[4]");
  CHECK(dtype_of_operand("t", 1) == DType::f64);
  CHECK(dtype_of_operand("u", 1) == DType::bf16);
}

TEST_CASE("cast takes its result's dtype from an attribute") {
  const auto graph = infer_good(R"(
graph: g
inputs: {x: "f32[3]"}
nodes:
- {op: cast, in: x, out: y, to: i8}
- {op: cast, in: y, out: z, to: f8e4m3}
outputs: [z]
)");
  CHECK(graph.type("y") == "i8[3]");
  CHECK(graph.type("z") == "f8e4m3[3]");
}

TEST_CASE("reductions: axes are counted from either end, and all of them where none is named") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8, S: 1..512}
inputs: {x: "f16[B, S, 64]", s: "f16[]"}
nodes:
- {op: sum, in: x, out: all}
- {op: max, in: x, out: last, axes: [-1]}
- {op: mean, in: x, out: kept, axes: [2, 0], keepdims: true}
- {op: mean_variance, in: x, out: [m, v], axes: [1]}
- {op: sum, in: x, out: one, axes: -2}
- {op: sum, in: s, out: none}
outputs: [all, last, kept, m, v, one, none]
)");
  CHECK(graph.type("all") == "f16[]");
  CHECK(graph.type("last") == "f16[B, S]");
  CHECK(graph.type("kept") == "f16[1, S, 1]");
  CHECK(graph.type("m") == "f16[B, 64]");
  CHECK(graph.type("v") == "f16[B, 64]");
  CHECK(graph.type("one") == "f16[B, 64]");
  CHECK(graph.type("none") == "f16[]");
  const auto& kept = std::get<Reduction>(graph.node("kept").kind);
  CHECK(kept.axes == std::vector<int>{0, 2});
  CHECK(kept.keepdims);
  CHECK(std::get<Reduction>(graph.node("all").kind).axes == std::vector<int>{0, 1, 2});
  CHECK_FALSE(std::get<Reduction>(graph.node("last").kind).keepdims);
}

TEST_CASE("matmul takes any number of leading axes") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8, S: 1..512}
inputs: {x: "bf16[B, S, 128]", m: "bf16[S, 128]", w: "bf16[128, 256]"}
nodes:
- {op: matmul, in: [x, w], out: y}
- {op: matmul, in: [m, w], out: z}
outputs: [y, z]
)");
  CHECK(graph.type("y") == "bf16[B, S, 256]");
  CHECK(graph.type("z") == "bf16[S, 256]");
  CHECK(std::holds_alternative<Structured>(graph.node("y").kind));
}

TEST_CASE("the leading axes of matmul's operands broadcast") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8, T: 0..64}
inputs: {q: "f32[B, 3, T, 16]", k: "f32[B, 1, 16, T]", w: "f32[3, 16, 8]", m: "f32[5, 16]", none: "f32[0, 1, 5, 16]"}
nodes:
- {op: matmul, in: [q, k], out: scores}
- {op: matmul, in: [q, w], out: heads}
- {op: matmul, in: [m, w], out: parts}
- {op: matmul, in: [none, w], out: nothing}
outputs: [scores, heads, parts, nothing]
)");
  CHECK(graph.type("scores") == "f32[B, 3, T, T]");
  CHECK(graph.type("heads") == "f32[B, 3, T, 8]");
  CHECK(graph.type("parts") == "f32[3, 5, 8]");
  CHECK(graph.type("nothing") == "f32[0, 3, 5, 8]");
}

TEST_CASE("a composite of reductions has the shape of one; an ellipsis may stand behind names") {
  const auto graph = infer_good(R"(
graph: g
dims: {M: 1..8}
inputs: {x: "f32[M, 6, 5, 7]", w: "f32[6]"}
nodes:
- {op: reduce_l2, in: x, out: middle, axes: [1, -1]}
- {op: log_sum_exp, in: x, out: kept, axes: [0, 3], keepdims: true}
- {op: sum_square, in: x, out: all}
- {op: batch_norm, in: [x, w, w, w, w], out: y}
- {op: batch_norm, in: [kept, w, w, w, w], out: one}
outputs: [middle, kept, all, y, one]
)");
  CHECK(graph.type("middle") == "f32[M, 5]");
  CHECK(graph.type("kept") == "f32[1, 6, 5, 1]");
  CHECK(graph.type("all") == "f32[]");
  CHECK(graph.type("y") == "f32[M, 6, 5, 7]");
  CHECK(graph.type("one") == "f32[1, 6, 5, 1]");
}

TEST_CASE("attention: the scale's default follows from the shapes, the mask may be left out") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8, S: 1..512, T: 1..512}
inputs: {q: "f32[B, S, 32, 64]", k: "f32[B, T, 8, 64]", v: "f32[B, T, 8, 64]", mask: "f32[B, 32, S, T]"}
nodes:
- {op: attention, in: [q, k, v], out: a}
- {op: attention, in: [q, k, v, mask], out: b, scale: 2, causal: true}
outputs: [a, b]
)");
  CHECK(graph.type("a") == "f32[B, S, 32, 64]");
  const Attributes& a = graph.node("a").attributes;
  REQUIRE(a.size() == 2);
  CHECK(a[0].first == "scale");
  CHECK(std::get<Number>(a[0].second) == 0.125);
  CHECK(std::get<bool>(a[1].second) == false);
  const Attributes& b = graph.node("b").attributes;
  CHECK(std::get<Number>(b[0].second) == 2);
  CHECK(std::get<bool>(b[1].second) == true);
}

TEST_CASE("composites have the broadcast shape of their operands, or that of their pattern") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8, S: 1..512}
inputs:
  {x: "bf16[B, S, 64]", w: "bf16[96, 64]", b: "bf16[96]", g1: "bf16[64]", cos: "bf16[S, 1, 16]", q: "bf16[B, S, 4, 16]"}
nodes:
- {op: softmax, in: x, out: p}
- {op: layer_norm, in: [x, g1, 0], out: n, epsilon: 1.0e-6}
- {op: linear, in: [x, w, b], out: y}
- {op: linear, in: [x, w], out: z}
- {op: rope, in: [q, cos, cos], out: r}
- {op: swiglu, in: [x, g1], out: u}
outputs: [p, n, y, z, r, u]
)");
  CHECK(graph.type("p") == "bf16[B, S, 64]");
  CHECK(graph.type("n") == "bf16[B, S, 64]");
  CHECK(graph.type("y") == "bf16[B, S, 96]");
  CHECK(graph.type("z") == "bf16[B, S, 96]");
  CHECK(graph.type("r") == "bf16[B, S, 4, 16]");
  CHECK(graph.type("u") == "bf16[B, S, 64]");
  CHECK(std::holds_alternative<Composite>(graph.node("p").kind));
  CHECK(std::get<std::int64_t>(graph.node("p").attributes[0].second) == -1);
  CHECK(std::get<Number>(*find_attribute(graph.node("n").attributes, "epsilon")) == 1.0e-6);
  const auto extent = [&](std::string_view result, std::string_view name) {
    const Node& node = graph.node(result);
    return size_named({graph.module.main, node, {}, node.attributes}, name);
  };
  CHECK(extent("y", "N") == Dim(96));
  CHECK(extent("y", "K") == Dim(64));
  CHECK(extent("r", "D") == Dim(16));
  CHECK(extent("y", "M") == Dim::symbol("S"));
  CHECK_FALSE(extent("y", "Z"));
}

TEST_CASE("nodes are put in order, and stay as written where they can") {
  const auto graph = infer_good(R"(
graph: g
inputs: {x: "f32[4]"}
nodes:
- {op: add, in: [c, a], out: d}
- {op: relu, in: x, out: a}
- {op: exp, in: b, out: c}
- {op: abs, in: x, out: b}
- {op: neg, in: x, out: e}
outputs: [d, e]
)");
  CHECK(results_in_order(graph.module.main) == std::vector<std::string>{"a", "b", "c", "d", "e"});
  CHECK(graph.node("d").op->name == "add");
  CHECK(graph.type("d") == "f32[4]");
}

TEST_CASE("functions are typed by their inputs, and calls by their functions") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8}
inputs: {x: "f32[B, 4]"}
functions:
  inner:
    inputs: {a: "f32[B, 4]", scale: "f32[]"}
    nodes: [{op: mul, in: [a, scale], out: b}]
    outputs: [b]
  outer:
    inputs: {a: "f32[B, 4]"}
    state: {total: {type: "f32[8, 4]", next: total_next}}
    nodes:
    - {call: inner, in: [a, 2], out: b}
    - {op: sum, in: b, out: s, axes: [0], keepdims: true}
    - {op: add, in: [total, s], out: total_next}
    outputs: [b, s]
nodes:
- {call: inner, in: [x, 0.5], out: h, repeat: 3}
- {call: outer, in: h, out: [y, z]}
outputs: [y, z]
)");
  CHECK(graph.type("h") == "f32[B, 4]");
  CHECK(graph.type("y") == "f32[B, 4]");
  CHECK(graph.type("z") == "f32[1, 4]");
  CHECK(graph.module.functions[1].type(graph.module.functions[1].outputs[1]).shape.size() == 2);
}

TEST_CASE("new nodes can be typed one by one") {
  auto graph = infer_good(R"(
graph: g
inputs: {x: "f16[4, 6]"}
nodes: [{op: relu, in: x, out: y}]
outputs: [y]
)").module.main;
  const OpSpec* sum = test::shipped_ops().find("sum");
  REQUIRE(sum);
  const auto result = static_cast<ValueId>(graph.values.size());
  graph.values.emplace_back().name = "s";
  Node node;
  node.op = sum;
  node.inputs = {graph.outputs[0]};
  node.outputs = {result};
  node.attributes = {{"keepdims", true}};
  Diagnostics diagnostics;
  REQUIRE(infer_node(graph, node, ranges_of(graph), diagnostics));
  CHECK(to_text(graph.type(result)) == "f16[1, 1]");
  CHECK(node.attributes[0].first == "axes");
  CHECK(std::get<Reduction>(node.kind).axes == std::vector<int>{0, 1});

  node.attributes = {{"axes", std::vector<Dim>{2}}};
  CHECK_FALSE(infer_node(graph, node, ranges_of(graph), diagnostics));
  CHECK(diagnostics.all().back().message == "sum: axis 2 is out of range for 'y' (f16[4, 6])");
}

}  // namespace
}  // namespace kgen
