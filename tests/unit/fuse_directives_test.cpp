// What `fusion:` and `expect_fused:` do, and what is said where they cannot.
#include <fmt/format.h>

#include <ctime>

#include "generator/pass/place/place.hpp"
#include "generator/pass/verify/verify.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

const char* const forbidden = "the graph forbids it (`fusion: forbid`)";

// u = exp(z) and t = tanh(u) ride in the epilogue of c, though they stand before it.
const std::string guests = R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 4]", z: "f32[8, 4]"}
nodes:
  - {op: exp, in: z, out: u}
  - {op: tanh, in: u, out: t}
  - {op: matmul, in: [a, w], out: c}
  - {op: add, in: [c, t], out: y}
outputs: [y]
)";

const std::string two_prologues = R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 4]"}
nodes:
  - {op: exp, in: a, out: f}
  - {op: tanh, in: w, out: g1}
  - {op: matmul, in: [f, g1], out: c}
outputs: [c]
)";

std::string text_of(const Diagnostic& diagnostic) {
  std::string text = diagnostic.message + "\n";
  for (const auto& [where, note] : diagnostic.notes) text += "note: " + note + "\n";
  return text + "help: " + diagnostic.help + "\n";
}

// `text` with the two values forced into one stub, verified and lowered.
FusedGraph forced(const std::string& text, const std::string& a, const std::string& b) {
  Fixture f;
  FusedGraph fused = f.fuse_main(text + "fusion: {force: [[" + a + ", " + b + "]]}\n");
  const FunctionPlan plan = place(schedule(fused), {}, 1);
  verify(plan, {}, f.diagnostics);
  StubTable stubs;
  lower(plan.fused, f.ops, "stub_", stubs);
  CHECK_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  return fused;
}

FusedGraph not_forced(const std::string& text) {
  Fixture f;
  return f.fuse_main(text);
}

std::string chain(const std::string& name, int length) {
  std::string text;
  for (int i = 0; i < length; ++i) {
    text += "  - {op: tanh, in: " + name + std::to_string(i) + ", out: " + name + std::to_string(i + 1) + "}\n";
  }
  return text;
}

}  // namespace

TEST_CASE("forbid: a value that no output needs") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {a: "f32[8]"}
nodes:
  - {op: mul, in: [a, 2], out: b}
  - {op: mul, in: [a, 3], out: c}
outputs: [b]
fusion: {forbid: [[b, c]]}
)");
  REQUIRE(fused.groups.size() == 1);
  CHECK(fused.graph.nodes.size() == 1);
  REQUIRE(f.diagnostics.all().size() == 2);  // the first: 'c' is never read
  const Diagnostic& warning = f.diagnostics.all()[1];
  CHECK(warning.severity == Severity::warning);
  CHECK(warning.where.line == 8);
  CHECK(
      text_of(warning) ==
      "fusion: forbid: no output needs 'c', so no stub computes it, and nothing is to be kept apart from it\n"
      "help: remove it from `fusion: forbid`, or read it: a value that nothing reads can be listed under `outputs:`\n");
}

TEST_CASE("expect_fused and force: a value that no output needs, or that is a view") {
  for (const std::string what : {"expect_fused: [[C, sum, y]]", "fusion: {force: [[C, sum, y]]}"}) {
    Fixture f;
    f.fuse_main(R"(
graph: g
inputs: {A: "f32[8, 16]", B: "f32[16, 4]", bias: "f32[4]"}
nodes:
  - {op: matmul, in: [A, B], out: C}
  - {op: add, in: [C, bias], out: sum}
  - {op: relu, in: C, out: y}
outputs: [y]
)" + what + "\n");
    REQUIRE(f.diagnostics.all().size() == 2);
    const Diagnostic& error = f.diagnostics.all()[1];
    CHECK(error.severity == Severity::error);
    CHECK(error.where.line == 9);
    CHECK(error.message.ends_with(": no output needs 'sum', so no stub computes it"));
  }
  Fixture f;
  f.fuse_main(R"(
graph: g
inputs: {a: "f32[8, 16]"}
nodes:
  - {op: exp, in: a, out: e}
  - {op: transpose, in: e, out: t, perm: [1, 0]}
  - {op: softmax, in: t, out: y, axis: 1}
outputs: [y]
expect_fused: [[t, y]]
)");
  REQUIRE(f.diagnostics.all().size() == 1);
  CHECK(text_of(f.diagnostics.all()[0]) ==
        "expect_fused: 't' is a view of 'e', read in place: no stub computes it\nhelp: name 'e' instead\n");
}

TEST_CASE("expect_fused: each reason on the way between the two") {
  Fixture f;
  f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", w: "f32[32, 16]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: relu, in: c, out: r}
  - {op: softmax, in: r, out: y, axis: 1}
  - {op: exp, in: a, out: e}
outputs: [y, e]
expect_fused: [[c, y], [c, e]]
)");
  REQUIRE(f.diagnostics.all().size() == 2);
  CHECK(text_of(f.diagnostics.all()[0]) ==
        "expect_fused: 'c' and 'y' are not computed by one stub\n"
        "note: 'y_shifted' does not join 'r': its operands come from a kernel, whose epilogue sees tiles, and from "
        "a stub that walks rows: each tile would go through rows of 16 again\n"
        "help: `kgen explain --all` prints every decision and its reason\n");
  CHECK(text_of(f.diagnostics.all()[1]) ==
        "expect_fused: 'c' and 'e' are not computed by one stub\n"
        "note: neither needs the other: of such only loops that read the same memory and siblings of one kernel become "
        "one\n"
        "help: `kgen explain --all` prints every decision and its reason\n");
}

TEST_CASE("a cast that a directive names is not read through") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {a: "bf16[8]"}
nodes:
  - {op: cast, in: a, out: wide, to: f32}
  - {op: exp, in: wide, out: y}
outputs: [y]
expect_fused: [[wide, y]]
)");
  CHECK_FALSE(f.diagnostics.has_errors());
  CHECK(together(fused, "wide", "y"));
}

TEST_CASE("ports: what rides in an epilogue is no prologue, wherever it stands") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(guests);
  REQUIRE(fused.groups.size() == 1);
  const Group& group = fused.groups[0];
  CHECK(group.prologues.empty());
  REQUIRE(group.epilogues.size() == 1);
  CHECK(group.epilogues[0].nodes == std::vector<NodeId>{0, 1, 3});
  CHECK(group.epilogues[0].results == std::vector<std::size_t>{0});
  CHECK(reason(fused, "u", "t") == "the epilogue of kgen::matmul takes it");
  CHECK(reason(fused, "t", "y") == "the epilogue of kgen::matmul takes it");
  CHECK(reason(fused, "c", "y") == "the epilogue of kgen::matmul takes it");
}

TEST_CASE("ports: a prologue belongs to its operand") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(two_prologues);
  REQUIRE(fused.groups.size() == 1);
  const Group& group = fused.groups[0];
  REQUIRE(group.prologues.size() == 2);
  CHECK(group.prologues[0].operand == 0);
  CHECK(group.prologues[0].nodes == std::vector<NodeId>{0});
  CHECK(group.prologues[1].operand == 1);
  CHECK(group.prologues[1].nodes == std::vector<NodeId>{1});
  CHECK(group.epilogues.empty());
  CHECK(reason(fused, "g1", "c") == "a prologue of kgen::matmul takes it");
}

TEST_CASE("forbid: between two prologues, a prologue and its kernel, an epilogue and its kernel") {
  {
    Fixture f;
    const FusedGraph fused = f.fuse_main(two_prologues + "fusion: {forbid: [[f, g1]]}\n");
    CHECK(fused.groups.size() == 2);
    CHECK(together(fused, "f", "c"));
    CHECK_FALSE(together(fused, "g1", "c"));
    CHECK(reason(fused, "g1", "c") == forbidden);
  }
  {
    Fixture f;
    const FusedGraph fused = f.fuse_main(two_prologues + "fusion: {forbid: [[f, c]]}\n");
    CHECK(fused.groups.size() == 2);
    CHECK(together(fused, "g1", "c"));
    CHECK(reason(fused, "f", "c") == forbidden);
  }
  {
    Fixture f;
    const FusedGraph fused = f.fuse_main(guests + "fusion: {forbid: [[u, c]]}\n");
    CHECK(fused.groups.size() == 2);
    CHECK_FALSE(together(fused, "u", "c"));
    CHECK(together(fused, "c", "y"));
    CHECK(reason(fused, "t", "y") == forbidden);
  }
}

TEST_CASE("forbid: rows, and siblings") {
  {
    Fixture f;
    const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {x: "f32[8, 64]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: sum, in: e, out: total, axes: [1]}
outputs: [total]
fusion: {forbid: [[e, total]]}
)");
    CHECK(fused.groups.size() == 2);
    CHECK(reason(fused, "e", "total") == forbidden);
  }
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {x: "f32[8, 64]"}
nodes:
  - {op: exp, in: x, out: a}
  - {op: tanh, in: x, out: b}
outputs: [a, b]
fusion: {forbid: [[a, b]]}
)");
  CHECK(fused.groups.size() == 2);
}

TEST_CASE("the limits of a stub hold for all prologues of a kernel together") {
  const std::string text = "graph: g\ninputs: {a0: \"f32[8, 8]\", b0: \"f32[8, 8]\"}\nnodes:\n" + chain("a", 40) +
                           chain("b", 40) + "  - {op: matmul, in: [a40, b40], out: y}\noutputs: [y]\n";
  const FusedGraph fused = not_forced(text);
  for (const Group& group : fused.groups) CHECK(group.nodes.size() <= 64);
  CHECK(reason(fused, "a40", "y") == "a prologue of kgen::matmul takes it");
  CHECK(reason(fused, "b40", "y") == "the stub is large enough: more would not fit in registers");
  CHECK(forced(text, "b40", "y").groups.size() == 1);
}

TEST_CASE("force: the limits of a stub, for all that lies between the two") {
  const std::string text = "graph: g\ninputs: {x0: \"f32[8]\"}\nnodes:\n" + chain("x", 130) + "outputs: [x130]\n";
  CHECK_FALSE(together(not_forced(text), "x60", "x130"));
  const FusedGraph fused = forced(text, "x60", "x130");
  CHECK(together(fused, "x60", "x64"));
  CHECK(together(fused, "x60", "x130"));
}

TEST_CASE("force: an epilogue of what goes through memory anyway") {
  const std::string text = R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 4]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: relu, in: c, out: r}
  - {op: sum, in: r, out: total, axes: [1]}
outputs: [c, total]
)";
  CHECK(reason(not_forced(text), "c", "r") ==
        "'c' goes through memory anyway, and the rows that 'r' leads to read it from there");
  const FusedGraph fused = forced(text, "c", "r");
  CHECK(reason(fused, "c", "r") == "the epilogue of kgen::matmul takes it");
  CHECK_FALSE(together(fused, "r", "total"));
}

TEST_CASE("force: a loop beside another, where one would be a kernel's prologue") {
  const std::string text = R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 4]"}
nodes:
  - {op: exp, in: a, out: f}
  - {op: tanh, in: a, out: beside}
  - {op: matmul, in: [f, w], out: c}
outputs: [beside, c]
)";
  CHECK(together(not_forced(text), "f", "c"));
  const FusedGraph fused = forced(text, "beside", "f");
  CHECK(together(fused, "beside", "f"));
  CHECK_FALSE(together(fused, "f", "c"));
}

TEST_CASE("force: loops that read different memory") {
  const std::string text = R"(
graph: g
inputs: {a: "f32[8, 16]", b: "f32[8, 16]"}
nodes:
  - {op: exp, in: a, out: x}
  - {op: tanh, in: b, out: before}
  - {op: sum, in: before, out: y, axes: [1]}
outputs: [x, y]
)";
  CHECK_FALSE(together(not_forced(text), "x", "y"));
  CHECK(together(forced(text, "x", "before"), "x", "before"));
  // One stub for `y` and `before` would save more.
  CHECK(together(forced(text, "x", "y"), "x", "y"));
}

TEST_CASE("force: of two kernels, the one whose epilogue takes a node") {
  const std::string text = R"(
graph: g
inputs: {a: "f32[8, 16]", v: "f32[16, 4]", w: "f32[16, 4]"}
nodes:
  - {op: matmul, in: [a, v], out: gate}
  - {op: matmul, in: [a, w], out: up}
  - {op: mul, in: [gate, up], out: y}
outputs: [y]
)";
  CHECK(together(not_forced(text), "gate", "y"));
  CHECK(together(forced(text, "up", "y"), "up", "y"));
}

TEST_CASE("force: the prologue of a kernel, where another stub would take a node first") {
  const std::string after_kernel = R"(
graph: g
inputs: {a: "f32[8, 16]", v: "f32[16, 4]", w: "f32[4, 4]"}
nodes:
  - {op: matmul, in: [a, v], out: k}
  - {op: relu, in: k, out: p}
  - {op: exp, in: p, out: f}
  - {op: matmul, in: [f, w], out: c}
outputs: [c]
)";
  CHECK(together(not_forced(after_kernel), "k", "f"));
  const FusedGraph only_last = forced(after_kernel, "f", "c");
  CHECK(together(only_last, "k", "p"));
  CHECK(together(only_last, "f", "c"));
  CHECK(reason(only_last, "p", "f") == "the graph forces one of them into another stub (`fusion: force`)");
  const FusedGraph both = forced(after_kernel, "p", "c");
  CHECK_FALSE(together(both, "k", "p"));
  CHECK(together(both, "p", "f"));
  CHECK(together(both, "f", "c"));

  const std::string after_output = R"(
graph: g
inputs: {a: "f32[8, 4]", w: "f32[4, 4]"}
nodes:
  - {op: relu, in: a, out: p}
  - {op: exp, in: p, out: f}
  - {op: matmul, in: [f, w], out: c}
outputs: [p, c]
)";
  CHECK(together(not_forced(after_output), "f", "c"));  // which reads 'p' where that is written
  CHECK(together(forced(after_output, "f", "c"), "f", "c"));
}

TEST_CASE("force: the rows that read a node, where an epilogue would take it first") {
  const std::string text = R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 4]", z: "f32[8, 4]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: relu, in: c, out: r}
  - {op: tanh, in: z, out: t}
  - {op: mul, in: [r, t], out: y}
  - {op: sum, in: y, out: total, axes: [1]}
outputs: [total]
)";
  CHECK(together(not_forced(text), "c", "y"));
  const FusedGraph fused = forced(text, "y", "total");
  CHECK(together(fused, "c", "r"));
  CHECK(together(fused, "y", "total"));
  CHECK(reason(fused, "r", "y") == "the graph forces one of them into another stub (`fusion: force`)");
}

TEST_CASE("force: what cannot be right is an error") {
  Fixture f;
  f.fuse_main(R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 4]", z: "f32[8, 16]", flat: "f32[4]"}
nodes:
  - {op: matmul, in: [a, w], out: c}
  - {op: sum, in: c, out: total, axes: [1]}
  - {op: exp, in: flat, out: e}
  - {op: tanh, in: z, out: t}
outputs: [total, e, t]
fusion: {force: [[c, total], [e, t]]}
)");
  REQUIRE(f.diagnostics.all().size() == 2);
  CHECK(text_of(f.diagnostics.all()[0]) ==
        "fusion: force: 'c' and 'total' are not computed by one stub\n"
        "note: 'total' does not join 'c': an epilogue sees tiles, not whole rows: a reduction cannot ride in it\n"
        "help: `kgen explain --all` prints every decision and its reason\n");
  CHECK(
      text_of(f.diagnostics.all()[1]) ==
      "fusion: force: 'e' and 't' are not computed by one stub\n"
      "note: neither needs the other: of such only loops over the same elements and siblings of one kernel become one\n"
      "help: `kgen explain --all` prints every decision and its reason\n");
}

TEST_CASE("force: a refusal says whether there is a cycle, or only a wait") {
  const std::string rows = R"(
graph: g
inputs: {x: "f32[8, 16]", w: "f32[16, 16]", r: "f32[8, 16]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: matmul, in: [e, w], out: m}
)";
  Fixture cyclic;
  // m needs e, and feeds y through rows that no epilogue takes.
  const FusedGraph between = cyclic.fuse_main(rows + R"(
  - {op: sum, in: m, out: total, axes: [1], keepdims: true}
  - {op: mul, in: [e, total], out: y}
outputs: [y, m]
fusion: {force: [[e, y]]}
)");
  CHECK(reason(between, "e", "y") == "another stub between them needs the one and feeds the other");
  Fixture waiting;
  const FusedGraph waits = waiting.fuse_main(rows + R"(
  - {op: matmul, in: [r, w], out: n}
  - {op: sum, in: n, out: total, axes: [0], keepdims: true}
  - {op: exp, in: total, out: late}
  - {op: broadcast_to, in: late, out: wide, shape: [8, 16]}
  - {op: mul, in: [e, wide], out: y}
outputs: [y, m]
fusion: {force: [[e, y]]}
)");
  CHECK(reason(waits, "e", "y") == "it would wait for another stub, and others read it already");
  // y rides with p, which needs e.
  Fixture beside;
  beside.fuse_main(R"(
graph: g
inputs: {x: "f32[8, 16]", v: "f32[16, 4]", r: "f32[8, 4]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: neg, in: r, out: y}
  - {op: matmul, in: [e, v], out: p}
  - {op: add, in: [p, y], out: z}
outputs: [e, z]
fusion: {force: [[e, y]]}
)");
  const std::string said = beside.diagnostics.text(false);
  CHECK_MESSAGE(said.find("neither needs the other, but the stub of one waits for that of the other") != said.npos,
                said);
}

// Each is looked up among all: it took time that grew with the square of their number.
TEST_CASE("force: 10,000 loops beside each other") {
  std::string nodes = "graph: g\ninputs: {x: \"f32[8]\"}\nnodes:\n", names;
  for (int i = 0; i < 10'000; ++i) {
    nodes += fmt::format("  - {{op: add, in: [x, {}], out: y{}}}\n", i + 1, i);
    names += fmt::format("{}y{}", i == 0 ? "" : ", ", i);
  }
  Fixture f;
  Module module = f.prepare(nodes + "outputs: [" + names + "]\nfusion: {force: [[" + names + "]]}\n");
  const std::clock_t begin = std::clock();
  const FusedGraph fused = fuse(std::move(module.main), {});
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  MESSAGE("fuse of 10,000 forced nodes: " << seconds << " s");
  CHECK(fused.groups.size() == 1);
}

TEST_CASE("reasons: views are named by what they do") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {a: "f32[8, 16]"}
nodes:
  - {op: exp, in: a, out: e}
  - {op: softmax, in: e, out: s, axis: 1}
  - {op: transpose, in: s, out: y, perm: [1, 0]}
outputs: [y]
)");
  CHECK(reason(fused, "s", "y") == "it is read through a view (transpose), in place from memory");
}

TEST_CASE("reasons: a part of a larger tensor, and what another kernel's stub makes") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {a: "f32[8, 16]", w: "f32[16, 16]"}
nodes:
  - {op: exp, in: a, out: e}
  - {op: concat, in: [e, a], out: all, axis: 0}
  - {op: softmax, in: all, out: y, axis: 1}
  - {op: matmul, in: [a, w], out: c}
  - {op: relu, in: c, out: r}
  - {op: matmul, in: [r, w], out: z}
outputs: [y, z]
)");
  CHECK(fused.decisions[0].reason == "it is written to memory as a part of 'all'");
  CHECK(reason(fused, "r", "z") == "another kernel's stub makes it, and a stub calls one kernel");
}

TEST_CASE("reasons: what comes out of a function, or is read by one") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
inputs: {a: "f32[8, 8]", w: "f32[8, 8]"}
functions:
  block:
    inputs: {x: "f32[8, 8]"}
    nodes:
      - {op: exp, in: x, out: r}
    outputs: [r]
nodes:
  - {op: tanh, in: a, out: t}
  - {call: block, in: t, out: b}
  - {op: matmul, in: [b, w], out: y}
outputs: [y]
)");
  CHECK(reason(fused, "t", "b") == "a function's stubs are emitted once, for all its calls");
  CHECK(reason(fused, "b", "y") == "it comes out of a function, which is emitted once");
}
