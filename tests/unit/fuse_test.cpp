#include <doctest/doctest.h>

#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

TEST_CASE("elementwise + elementwise: the loops have the same shape") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 8]", b: "f32[M, 8]"}
nodes:
  - {op: add, in: [a, b], out: c}
  - {op: mul, in: [c, b], out: d}
  - {op: exp, in: c, out: e}
outputs: [d, e]
)");
  REQUIRE(fused.groups.size() == 1);
  CHECK(fused.groups[0].kind == GroupKind::elementwise);
  CHECK(fused.groups[0].nodes.size() == 3);
  CHECK(fused.groups[0].inputs.size() == 2);
  CHECK(fused.groups[0].outputs.size() == 2);
  CHECK(reason(fused, "c", "d") == "they walk the same loop");
}

TEST_CASE("a value that is broadcast stays in memory: it would be computed again for each use") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[8]", b: "f32[M, 8]"}
nodes:
  - {op: exp, in: a, out: scale}
  - {op: mul, in: [b, scale], out: y}
outputs: [y]
)");
  CHECK(fused.groups.size() == 2);
  CHECK(reason(fused, "scale", "y") ==
        "it is broadcast from [8] to [M, 8]: every element would be computed again for each use");
}

TEST_CASE("siblings that read the same input share a loop") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 8]"}
nodes:
  - {op: exp, in: a, out: b}
  - {op: tanh, in: a, out: c}
outputs: [b, c]
)");
  CHECK(fused.groups.size() == 1);
}

TEST_CASE("several reductions of the same rows, and what leads in and out of them, are one row program") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 64]", r: "f32[M, 64]"}
nodes:
  - {op: add, in: [x, r], out: h}
  - {op: softmax, in: h, out: p, axis: -1}
  - {op: max, in: p, out: top, axes: [1], keepdims: false}
outputs: [h, p, top]
)");
  REQUIRE(fused.groups.size() == 1);
  CHECK(fused.groups[0].kind == GroupKind::rows);
  CHECK(fused.groups[0].row_axes == std::vector<int>{1});
  CHECK(fused.groups[0].outputs.size() == 3);
}

TEST_CASE("reductions of other axes are other rows") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 64]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: sum, in: e, out: rows, axes: [1]}
  - {op: sum, in: e, out: columns, axes: [0]}
outputs: [rows, columns]
)");
  CHECK(fused.groups.size() == 2);
  CHECK(together(fused, "e", "rows"));
  CHECK(reason(fused, "e", "columns") == "it reduces other axes than the rows it would join");
}

TEST_CASE("structured + elementwise: the epilogue takes what follows a kernel whose result is a sink") {
  const std::string text = R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", w: "f32[32, 16]", b: "f32[16]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: add, in: [c, b], out: s}
  - {op: relu, in: s, out: y}
outputs: [y]
)";
  {
    Fixture f;
    const FusedGraph fused = f.fuse_main(text);
    REQUIRE(fused.groups.size() == 1);
    CHECK(fused.groups[0].kind == GroupKind::structured);
    CHECK(reason(fused, "c", "s") == "the epilogue of kgen::matmul takes it");
  }
  {
    // The planner knows kernels by their signatures: without a sink there is no epilogue.
    Fixture f;
    for (KernelSignature& kernel : f.ops.kernels) {
      for (KernelOperand& result : kernel.results) result.accepts = Accepts::view;
    }
    const FusedGraph fused = f.fuse_main(text);
    CHECK(fused.groups.size() == 2);
    CHECK(reason(fused, "c", "s") == "the result of kgen::matmul takes no epilogue");
  }
}

TEST_CASE("elementwise + structured: a source takes the loop that makes it for this kernel alone") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", w: "f32[32, 16]", w2: "f32[32, 16]"}
nodes:
  - {op: relu, in: a, out: r}
  - {op: matmul, in: [r, w], out: y}
  - {op: exp, in: a, out: e}
  - {op: matmul, in: [e, w], out: z}
  - {op: matmul, in: [e, w2], out: u}
outputs: [y, z, u, e]
)");
  // e and r read the same memory; but a shared loop would cost r its place in the prologue.
  CHECK_FALSE(together(fused, "e", "r"));
  CHECK(together(fused, "r", "y"));
  CHECK(reason(fused, "r", "y") == "a prologue of kgen::matmul takes it");
  CHECK_FALSE(together(fused, "e", "z"));
  CHECK(reason(fused, "e", "z") == "'e' is read elsewhere too, so it goes through memory anyway");
}

TEST_CASE("an epilogue leaves to the rows what they would have to read back") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", w: "f32[32, 16]", x: "f32[M, 16]", g: "f32[16]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: add, in: [c, x], out: h}
  - {op: rms_norm, in: [h, g], out: y, epsilon: 1.0e-5}
outputs: [y]
)");
  REQUIRE(fused.groups.size() == 2);
  CHECK(together(fused, "c", "h"));
  CHECK(fused.groups[group_making(fused, "y")].kind == GroupKind::rows);
  // Only h passes between the two stubs.
  CHECK(fused.groups[group_making(fused, "h")].outputs == std::vector<ValueId>{value_named(fused.graph, "h")});
}

TEST_CASE("the epilogue of the first of two kernels takes the product of both") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 32]", x2: "f32[M, 32]", w1: "f32[32, 16]", w3: "f32[32, 16]"}
nodes:
  - {op: matmul, in: [x, w1], out: gate}
  - {op: matmul, in: [x2, w3], out: up}
  - {op: silu, in: gate, out: act}
  - {op: mul, in: [act, up], out: y}
outputs: [y]
)");
  CHECK(fused.groups.size() == 2);
  CHECK(together(fused, "y", "gate"));
}

TEST_CASE("no group comes to depend on itself") {
  // c must not join a's loop: the matmul between them needs a and feeds c.
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 16]", w: "f32[16, 16]"}
nodes:
  - {op: exp, in: x, out: a}
  - {op: matmul, in: [a, w], out: b}
  - {op: softmax, in: b, out: s, axis: 1}
  - {op: add, in: [a, s], out: c}
outputs: [c]
)");
  CHECK_FALSE(together(fused, "a", "c"));
  CHECK(together(fused, "s", "c"));
  // Groups stand in an order in which they can run.
  const FusedGraph ordered = schedule(fused);
  for (std::uint32_t id = 0; id < ordered.groups.size(); ++id) {
    for (const ValueId input : ordered.groups[id].inputs) {
      const Value& value = ordered.graph.value(input);
      if (value.kind == ValueKind::result) CHECK(ordered.group_of[value.producer] < id);
    }
  }
}

TEST_CASE("work that depends on constants only is not mixed with work of each call") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 4]"}
constants: {w: {type: "f32[4]", values: [1, 2, 3, 4]}, big: {type: "f32[128, 4]", file: w.safetensors, key: big}}
nodes:
  - {op: exp, in: big, out: table}
  - {op: sum, in: table, out: total, axes: [0]}
  - {op: add, in: [x, total], out: y}
outputs: [y]
)");
  CHECK(fused.groups[group_making(fused, "total")].at_load);
  CHECK(together(fused, "table", "total"));
  CHECK_FALSE(fused.groups[group_making(fused, "y")].at_load);
  CHECK(reason(fused, "total", "y") == "it is computed once, at load; its reader runs at each call");
}

TEST_CASE("an epilogue writes its results where they lie in a larger whole") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {x: "f32[3, 2, 4]", w: "f32[4, 5]", a: "f32[3, 2, 5]", row: "f32[3, 1, 5]"}
nodes:
  - {op: matmul, in: [x, w], out: y}
  - {op: exp, in: y, out: e}
  - {op: relu, in: e, out: z}
  - {op: concat, in: [z, z], out: c, axis: 1}
  - {op: tanh, in: x, out: t}
  - {op: matmul, in: [t, w], out: m}
  - {op: exp, in: m, out: inner}
  - {op: concat, in: [inner, m], out: beside, axis: 2}
  - {op: exp, in: a, out: gate}
  - {op: concat, in: [row, gate], out: gates, axis: 1}
  - {op: sigmoid, in: t, out: s}
  - {op: matmul, in: [s, w], out: v}
  - {op: mul, in: [v, gate], out: gated}
outputs: [c, beside, gates, gated]
)");
  CHECK(together(fused, "y", "z"));  // rows of a part of axis 1 do not follow each other
  CHECK(together(fused, "y", "z_copy"));
  CHECK(together(fused, "m", "inner"));
  CHECK(together(fused, "v", "gated"));
  CHECK(together(fused, "v", "gated"));
}

TEST_CASE("fusion: forbid keeps nodes apart, and says so") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {a: "f32[8]"}
nodes:
  - {op: exp, in: a, out: b}
  - {op: tanh, in: b, out: c}
outputs: [c]
fusion: {forbid: [[b, c]]}
)");
  CHECK(fused.groups.size() == 2);
  CHECK(reason(fused, "b", "c") == "the graph forbids it (`fusion: forbid`)");
}

TEST_CASE("expect_fused and force fail with the reason") {
  Fixture f;
  f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", w: "f32[32, 16]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: softmax, in: c, out: y, axis: 1}
outputs: [y]
expect_fused: [[c, y]]
)");
  REQUIRE(f.diagnostics.has_errors());
  CHECK(f.diagnostics.all()[0].message == "expect_fused: 'c' and 'y' are not computed by one stub");
}

TEST_CASE("a stub has an end: long chains are cut") {
  std::string text = "graph: g\ninputs: {x0: \"f32[8]\"}\nnodes:\n";
  for (int i = 0; i < 200; ++i) text += "  - {op: tanh, in: x" + std::to_string(i) + ", out: x" + std::to_string(i + 1) + "}\n";
  text += "outputs: [x200]\n";
  Fixture f;
  const FusedGraph fused = f.fuse_main(text);
  CHECK(fused.groups.size() == 4);
  for (const Group& group : fused.groups) CHECK(group.nodes.size() <= 64);
}

TEST_CASE("a product of batches takes prologues on both sides and an epilogue, and reads permuted operands in place") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {S: 1..64}
inputs: {q: "f32[2, S, 3, 16]", k: "f32[2, S, 3, 16]", bias: "f32[3, 1, S]"}
nodes:
  - {op: mul, in: [q, 0.25], out: scaled}
  - {op: transpose, in: scaled, out: q_heads, perm: [0, 2, 1, 3]}
  - {op: relu, in: k, out: positive}
  - {op: transpose, in: positive, out: k_columns, perm: [0, 2, 3, 1]}
  - {op: matmul, in: [q_heads, k_columns], out: scores}
  - {op: add, in: [scores, bias], out: y}
outputs: [y]
)");
  CHECK(together(fused, "scores", "y"));
  CHECK(reason(fused, "scores", "y") == "the epilogue of kgen::batched_matmul takes it");
  CHECK(fused.graph.copies.empty());
}
