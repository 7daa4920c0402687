// Operands that are read in lines: memory, which an elementwise kernel reads anywhere along one axis.
#include <doctest/doctest.h>

#include "generator/emit/stub.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/verify/verify.hpp"
#include "tests/unit/has.hpp"
#include "tests/unit/infer_fixture.hpp"
#include "tests/unit/load_fixture.hpp"
#include "tests/unit/plan_builder.hpp"
#include "tests/unit/plan_fixture.hpp"

namespace kgen {
namespace {

using test::Fixture;
using test::infer_good;
using test::problems_of;
using test::reason;
using test::together;

// The text of the only stub.
std::string stub_of(const std::string& graph) {
  Fixture f;
  const FusedGraph fused = f.fuse_main(graph);
  StubTable table;
  lower(fused, f.ops, "stub_", table);
  const std::vector<StubProgram> stubs = table.take();
  REQUIRE(stubs.size() == 1);
  return emit_stub(stubs[0], "g", "stubs", {"g.yaml", "kgen plan g.yaml"}).content;
}

}  // namespace

TEST_CASE("lines, bad: an operator that names no axis, or is not elementwise") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: elementwise
  operands: {x: {type: f32, line: axes}, y: {type: f32, line: scale}}
  attributes: {axis: {type: integer}, scale: {type: number}}
  results: {out: f32}
  kernel: k
- op: g
  kind: opaque
  operands: {x: {type: f32, line: axis}}
  attributes: {axis: {type: integer}}
  results: {out: f32}
  kernel: k
)yaml"),
           R"text(ops.yaml:4:35: error: 'axes' names no attribute of type integer
    4 |   operands: {x: {type: f32, line: axes}, y: {type: f32, line: scale}}
      |                                   ^
help: declare the axis: attributes: {axes: {type: integer}}
ops.yaml:4:63: error: 'scale' names no attribute of type integer
    4 | ...operands: {x: {type: f32, line: axes}, y: {type: f32, line: scale}}
      |                                                                ^
help: declare the axis: attributes: {scale: {type: integer}}
ops.yaml:10:35: error: only an operand of an elementwise operator is read in lines
   10 |   operands: {x: {type: f32, line: axis}}
      |                                   ^
)text");
}

TEST_CASE("lines, bad: an operator and its kernel disagree") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: elementwise
  operands: {x: {type: f32, line: axis}, y: f32}
  attributes: {axis: {type: integer}}
  results: {out: f32}
  kernel: k
)yaml",
                        R"yaml(kernels:
- {kernel: k, header: k.hpp, operator: f, kind: elementwise, results: [{name: out}],
   operands: [{name: x}, {name: y, accepts: line}]}
)yaml"),
           R"text(ops.yaml:4:14: error: 'x' is read in lines along 'axis', but not by the kernel 'k'
    4 |   operands: {x: {type: f32, line: axis}, y: f32}
      |              ^
kernels.yaml:3:15: note: it is declared here
    3 |    operands: [{name: x}, {name: y, accepts: line}]}
      |               ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:4:42: error: the kernel 'k' reads 'y' in lines, and 'f' does not say along which axis
    4 |   operands: {x: {type: f32, line: axis}, y: f32}
      |                                          ^
kernels.yaml:3:26: note: it is declared here
    3 |    operands: [{name: x}, {name: y, accepts: line}]}
      |                          ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

TEST_CASE("lines: the axis along which they lie does not broadcast") {
  const auto graph = infer_good(R"(
graph: g
dims: {M: 1..8, N: 2..9}
inputs: {x: "f32[M, N]", table: "bf16[100, 48]", i: "i64[M, 5]", row: "i32[1, 5]", column: "i64[4, M, 1]", one: "i64[]"}
nodes:
- {op: gather, in: [x, i], out: a}
- {op: gather, in: [x, row], out: b}
- {op: gather, in: [table, column], out: c, axis: -2}
- {op: gather, in: [x, one], out: d, axis: 0}
- {op: embedding, in: [i, table], out: e}
outputs: [a, b, c, d, e]
)");
  CHECK(graph.type("a") == "f32[M, 5]");
  CHECK(graph.type("b") == "f32[M, 5]");
  CHECK(graph.type("c") == "bf16[4, M, 48]");
  CHECK(graph.type("d") == "f32[1, N]");
  CHECK(graph.type("e") == "bf16[M, 5, 48]");
  CHECK(line_axis(graph.node("a"), 0) == 1);
  CHECK(line_axis(graph.node("a"), 1) == -1);
  CHECK(line_axis(graph.node("c"), 0) == 0);
}

TEST_CASE("lines, bad: axes and shapes") {
  const auto problems = [](const std::string& inputs, const std::string& node) {
    return problems_of("graph: g\ndims: {M: 1..8}\ninputs: {" + inputs + "}\nnodes:\n- " + node + "\noutputs: [y]\n");
  };
  CHECK(problems("x: 'f32[M, 4]', i: 'i64[M, 2]'", "{op: gather, in: [x, i], out: y, axis: 2}") ==
        "5: gather: axis 2 is out of range for 'x' (f32[M, 4])\n"
        "note: an axis is from -2 to 1");
  CHECK(problems("x: 'f32[]', i: 'i64[2]'", "{op: gather, in: [x, i], out: y}") ==
        "5: gather: axis -1 is out of range for 'x' (f32[])\n"
        "note: a scalar has no axes");
  CHECK(problems("x: 'f32[5, 4]', i: 'i64[3, 2]'", "{op: gather, in: [x, i], out: y}") ==
        "5: gather: 'x' (f32[5, 4]) and 'i' (i64[3, 2]) do not broadcast: axis 0 is 5 and 3\n"
        "note: two extents broadcast where they are equal, or one of them is 1");
  CHECK(problems("x: 'f32[5, 4]', i: 'f32[5, 2]'", "{op: gather, in: [x, i], out: y}") ==
        "5: gather: 'i' (f32[5, 2]) cannot be operand 'indices'\n"
        "note: its dtype must be i32 or i64\n"
        "help: convert it first");
}

TEST_CASE("lines: what is read along an axis is all in memory first; indices and results fuse") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 8]", i: "i64[M, 8]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: add, in: [i, 1], out: next}
  - {op: gather, in: [e, next], out: chosen}
  - {op: relu, in: chosen, out: y}
outputs: [y]
)");
  CHECK(fused.groups.size() == 2);
  CHECK(reason(fused, "e", "chosen") == "'e' is read along an axis, so all of it must be there");
  CHECK(together(fused, "next", "chosen"));
  CHECK(together(fused, "chosen", "y"));
}

TEST_CASE("lines: what is read along an axis does not join its reader's stub later either") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 8]", i: "i64[M, 8]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: gather, in: [e, i], out: chosen}
  - {op: add, in: [chosen, e], out: y}
outputs: [y]
)");
  CHECK(fused.groups.size() == 2);
  CHECK(together(fused, "chosen", "y"));
}

TEST_CASE("lines: not in a prologue or an epilogue whose kernel walks several axes as one") {
  const auto graph = [](const std::string& indices) {
    return "graph: g\ndims: {B: 1..4, M: 1..64}\ninputs:\n  t: " + indices + R"(
  table: f32[9, 16]
  w: f32[16, 8]
  c: f32[9, 8]
nodes:
  - {op: gather, in: [table, t], out: rows, axis: 0}
  - {op: matmul, in: [rows, w], out: p}
  - {op: gather, in: [c, t], out: shift, axis: 0}
  - {op: add, in: [p, shift], out: y}
outputs: [y]
)";
  };
  Fixture flat, deep;
  const FusedGraph fused = flat.fuse_main(graph("i64[M, 1]"));
  CHECK(together(fused, "rows", "p"));
  CHECK(together(fused, "shift", "y"));
  const FusedGraph apart = deep.fuse_main(graph("i64[B, M, 1]"));
  const char* why = "the kernel walks several axes as one, and one of them is read in lines";
  CHECK(reason(apart, "rows", "p") == why);
  CHECK_FALSE(together(apart, "shift", "p"));
}

TEST_CASE("lines: rows that lie across memory, and one line for each row") {
  const std::string stub = stub_of(R"(
graph: g
dims: {M: 1..64, N: 1..32}
inputs: {x: "f32[M, N]", t: "i32[N]", b: "f32[9]"}
nodes:
  - {op: max, in: x, out: top, axes: [0]}
  - {op: gather, in: [b, t], out: bias, axis: 0}
  - {op: add, in: [top, bias], out: y}
outputs: [y]
)");
  CHECK(has(stub, "kgen::Lines<const float, 2, 0> b;"));
  CHECK(has(stub, "// [9] along axis 0"));
  CHECK(has(stub, "row.map(kgen::Gather{}, row.load_scalar(b), row.load_scalar(t))"));
  CHECK(has(stub, "b.unsqueeze<0>().permute<1, 0>()"));
}

TEST_CASE("lines: one memory read both ways has two names") {
  const std::string stub = stub_of(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 32]", t: "i64[M, 1]"}
nodes:
  - {op: sum, in: x, out: total, axes: [1], keepdims: true}
  - {op: gather, in: [x, t], out: chosen}
  - {op: div, in: [chosen, total], out: y}
outputs: [y]
)");
  CHECK(has(stub, "kgen::View<const float, 2> x;"));
  CHECK(has(stub, "kgen::Lines<const float, 2, 1> x_lines;"));
  CHECK(has(stub, "row.map(kgen::Gather{}, row.load_scalar(x_lines), row.load_scalar(t))"));
}

TEST_CASE("lines: a result never takes the place of what is read along an axis") {
  PlanBuilder b;
  b.input("x", {8, 8}).structured("table", {"x"}, {8, 8}).structured("indices", {"x"}, {8, 8});
  b.node(Elementwise{{0, -1}}, "chosen", {"table", "indices"}).structured("y", {"chosen"}, {8, 8});
  for (const char* name : {"table", "indices"}) b.alone(GroupKind::structured, name);
  b.alone(GroupKind::elementwise, "chosen").alone(GroupKind::structured, "y").outputs({"y"});
  FunctionPlan plan = place(b.fused(), {});
  const auto slot = [&](const std::string& name) -> std::uint32_t& { return plan.placements[b.id(name)].index; };
  CHECK(slot("chosen") == slot("indices"));
  slot("chosen") = slot("table");
  Diagnostics diagnostics;
  verify(plan, {}, diagnostics);
  REQUIRE(diagnostics.has_errors());
  CHECK(has(diagnostics.all().front().message,
            "'chosen' is written over 'table' while that is read: it is read along an axis"));
}

}  // namespace kgen
