// Nodes of one kernel that differ in one operand alone: one call computes them.
#include <doctest/doctest.h>

#include <ctime>

#include "generator/emit/observe.hpp"
#include "generator/emit/stub.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/verify/verify.hpp"
#include "generator/pass/verify/verify_groups.hpp"
#include "tests/unit/has.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

const std::string inputs =
    "graph: g\ninputs: {x: \"f32[8, 6]\", w: \"f32[6, 10]\", v: \"f32[6, 10]\", u: \"f32[6, 4]\", r: \"f32[8, 10]\", "
    "t: \"f32[6, 10]\", w16: \"bf16[6, 10]\", v16: \"bf16[6, 10]\"}\n";

// A kernel of packed weights, which must lie in memory, with an attribute; it takes three at once.
const char* const ops = R"(
ops:
- op: scaled_product
  doc: A product with a factor.
  kind: structured
  types: {T: float}
  operands: {x: {type: T, shape: "[M, K]"}, packed: {type: T, shape: "[K, N]"}}
  attributes: {factor: {type: number, default: 1.0, doc: A factor.}}
  results: {out: {type: T, shape: "[M, N]"}}
  kernel: mine::scaled_product
)";
const char* const kernels = R"(
kernels:
- kernel: mine::scaled_product
  header: scaled_product.hpp
  operator: scaled_product
  kind: structured
  operands:
  - {name: x, rank: 2, types: float, accepts: source}
  - {name: packed, rank: 2, types: float, accepts: view, several: 3}
  attributes: [{name: factor, type: double}]
  results: [{name: out, rank: 2, accepts: sink}]
)";

struct PlannedSiblings {
  Fixture f;
  FusedGraph fused;

  explicit PlannedSiblings(const std::string& nodes, const std::string& outputs, const std::string& rest = "")
      : f(ops, kernels) {
    fused = f.fuse_main(inputs + "nodes:\n" + nodes + "outputs: [" + outputs + "]\n" + rest);
    INFO(f.diagnostics.text(false));
    REQUIRE(group_problems(fused).empty());
  }
  const Group& group(const std::string& value) const { return fused.groups[group_making(fused, value)]; }
  // The results of the call that makes `value`, in its order.
  std::vector<std::string> call(const std::string& value) const {
    std::vector<std::string> names;
    for (const NodeId root : roots_of(group(value)))
      names.push_back(fused.graph.value(fused.graph.nodes[root].outputs[0]).name);
    return names;
  }
  std::vector<std::string> stored(const std::string& value) const {
    std::vector<std::string> names;
    for (const ValueId output : group(value).outputs) names.push_back(fused.graph.value(output).name);
    return names;
  }
  std::vector<StubProgram> stubs() {
    StubTable table;
    lower(fused, f.ops, "stub_", table);
    return table.take();
  }
  // The text of the stub that calls a kernel, the first of them.
  std::string text() {
    for (const StubProgram& stub : stubs()) {
      if (!stub.kernel.empty()) return emit_stub(stub, "g", "stubs", {}).content;
    }
    return "";
  }
  void check_placed() {
    Diagnostics diagnostics;
    verify(place(schedule(fused), {}), {}, diagnostics);
    CHECK_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
  }
};

using Texts = std::vector<std::string>;

const std::string gated =
    "  - {op: matmul, in: [x, w], out: gate}\n  - {op: matmul, in: [x, v], out: up}\n"
    "  - {op: silu, in: gate, out: activated}\n  - {op: mul, in: [activated, up], out: hidden}\n";
// gate's epilogue needs up from memory.
const std::string loses =
    "  - {op: matmul, in: [x, w], out: gate}\n  - {op: matmul, in: [x, v], out: up}\n"
    "  - {op: flip, in: up, out: turned, axis: 0}\n  - {op: mul, in: [gate, turned], out: y}\n";
const std::string three =
    "  - {op: matmul, in: [x, w], out: q}\n  - {op: matmul, in: [x, u], out: k}\n  - {op: matmul, in: [x, v], out: "
    "p}\n";

}  // namespace

TEST_CASE("siblings: a gated product is one call with one joint epilogue") {
  PlannedSiblings plan(gated, "hidden");
  CHECK(plan.fused.groups.size() == 1);
  CHECK(plan.call("gate") == Texts{"gate", "up"});
  CHECK(plan.stored("gate") == Texts{"hidden"});
  CHECK(reason(plan.fused, "gate", "up") == "one call of kgen::matmul computes both: 'x' is read once");
  CHECK(reason(plan.fused, "activated", "hidden") == "the epilogue on 'gate' and 'up' of kgen::matmul takes it");
  const std::string text = plan.text();
  CHECK(has(text, "// hidden = mul(silu(matmul(x, w)), matmul(x, v))\n"));
  CHECK(has(text, "kgen::Vec<float, W> gate, kgen::Vec<float, W> up) const {"));
  CHECK(has(text, "kgen::matmul(x, kgen::several(w, v), epilogue, stream);"));
  const std::string copy = observed_source(text, "stubs/stub_hidden.cpp");
  CHECK(has(copy, "stub_hidden_epilogue.gate"));
  CHECK(has(copy, "stub_hidden_epilogue.up"));
  plan.check_placed();
}

TEST_CASE("siblings: three of different widths, each with memory of its own") {
  PlannedSiblings plan(three, "q, k, p");
  CHECK(plan.fused.groups.size() == 1);
  CHECK(plan.call("q") == Texts{"q", "k", "p"});
  CHECK(reason(plan.fused, "k", "p") == "one call of kgen::matmul computes both: 'x' is read once");
  CHECK(has(plan.text(), "kgen::matmul(x, kgen::several(w, u, v), kgen::several(q, k, p), stream);"));
  CHECK(plan.fused.decisions[0].bytes.text() == "192");
  plan.check_placed();
}

TEST_CASE("siblings: some results are joint, in whatever order they were written") {
  PlannedSiblings last(three + "  - {op: relu, in: k, out: a}\n  - {op: mul, in: [q, p], out: y}\n", "a, y");
  CHECK(last.call("q") == Texts{"q", "p", "k"});
  const std::string text = last.text();
  CHECK(
      has(text,
          "kgen::matmul(x, kgen::several(w, v, u), kgen::several(kgen::joint<2>(epilogue_q_p), epilogue_k), stream);"));
  CHECK(has(text, "struct stub_y_epilogue_q_p {"));
  last.check_placed();
  PlannedSiblings first("  - {op: matmul, in: [x, u], out: k}\n" + gated, "k, hidden");
  CHECK(has(first.text(),
            "kgen::matmul(x, kgen::several(u, w, v), kgen::several(k, kgen::joint<2>(epilogue)), stream);"));
}

TEST_CASE("siblings: each keeps the epilogue that it would have alone") {
  PlannedSiblings apart(
      "  - {op: matmul, in: [x, w], out: q}\n  - {op: relu, in: q, out: a}\n"
      "  - {op: matmul, in: [x, v], out: k}\n  - {op: add, in: [k, r], out: b}\n",
      "a, b");
  CHECK(apart.fused.groups.size() == 1);
  CHECK(apart.group("a").epilogues.size() == 2);
  CHECK(has(apart.text(), "kgen::several(epilogue_q, epilogue_k)"));

  // gate takes `y`, which reads the rows of up in reverse.
  const PlannedSiblings turned(loses, "y");
  CHECK_FALSE(together(turned.fused, "gate", "up"));
  CHECK(together(turned.fused, "gate", "y"));
  CHECK(reason(turned.fused, "gate", "up") == "'y' could no longer ride in an epilogue: it needs 'up' from memory");
  // It would rather walk the rows of up.
  const PlannedSiblings summed(
      "  - {op: matmul, in: [x, w], out: gate}\n  - {op: matmul, in: [x, v], out: up}\n"
      "  - {op: sum, in: up, out: total, axes: [1], keepdims: true}\n"
      "  - {op: mul, in: [gate, total], out: y}\n",
      "y");
  CHECK(together(summed.fused, "gate", "up"));
  CHECK(together(summed.fused, "total", "y"));
  const PlannedSiblings spread(
      "  - {op: matmul, in: [x, w], out: gate}\n  - {op: slice, in: u, out: u0, axis: 1, end: 1}\n"
      "  - {op: matmul, in: [x, u0], out: column}\n  - {op: mul, in: [gate, column], out: y}\n",
      "y");
  CHECK_FALSE(together(spread.fused, "gate", "column"));
  CHECK(together(spread.fused, "gate", "y"));
  // Nor could it alone.
  const PlannedSiblings own(
      "  - {op: matmul, in: [x, w], out: gate}\n  - {op: matmul, in: [x, v], out: up}\n"
      "  - {op: sum, in: gate, out: total, axes: [1], keepdims: true}\n"
      "  - {op: mul, in: [gate, total], out: y}\n",
      "y, up");
  CHECK(together(own.fused, "gate", "up"));
}

TEST_CASE("siblings: none needs what another makes") {
  const std::string chain =
      "  - {op: matmul, in: [x, w], out: q}\n  - {op: transpose, in: x, out: x_t, perm: [1, 0]}\n"
      "  - {op: softmax, in: q, out: s}\n  - {op: matmul, in: [x_t, s], out: b}\n"
      "  - {op: matmul, in: [x, b], out: k}\n";
  const PlannedSiblings plan(chain, "k");
  CHECK_FALSE(together(plan.fused, "q", "k"));
  CHECK(reason(plan.fused, "q", "k") == "what it needs may be ready only after stubs that read the other's result");
  Fixture f;
  const FusedGraph direct = f.fuse_main(
      "graph: g\ninputs: {x: \"f32[6, 6]\", w: \"f32[6, 6]\"}\nnodes:\n"
      "  - {op: matmul, in: [x, w], out: q}\n  - {op: matmul, in: [x, q], out: k}\noutputs: [k]\n");
  CHECK_FALSE(together(direct, "q", "k"));
  CHECK(reason(direct, "q", "k") == "another kernel's stub makes it, and a stub calls one kernel");
}

TEST_CASE("siblings: forbidden and forced ones") {
  const PlannedSiblings apart(gated, "hidden", "fusion: {forbid: [[gate, up]]}\n");
  CHECK_FALSE(together(apart.fused, "gate", "up"));
  CHECK(reason(apart.fused, "gate", "up") == "the graph forbids it (`fusion: forbid`)");
  CHECK(together(apart.fused, "gate", "hidden"));
  // `activated` is kept out of the epilogue on gate, so `hidden` needs it from memory, and rides on `up` alone.
  const PlannedSiblings kept(gated, "hidden", "fusion: {forbid: [[gate, activated]]}\n");
  CHECK_FALSE(together(kept.fused, "gate", "up"));
  CHECK(together(kept.fused, "up", "hidden"));
  PlannedSiblings forced(loses, "y", "fusion: {force: [[gate, up]]}\n");
  CHECK(together(forced.fused, "gate", "up"));
  CHECK_FALSE(forced.f.diagnostics.has_errors());
}

TEST_CASE("siblings: what all of them read may be a prologue of their call") {
  PlannedSiblings plan(
      "  - {op: relu, in: x, out: p}\n  - {op: matmul, in: [p, w], out: q}\n"
      "  - {op: matmul, in: [p, u], out: k}\n  - {op: matmul, in: [p, v], out: o}\n",
      "q, k, o");
  CHECK(plan.fused.groups.size() == 1);
  CHECK(plan.stored("q") == Texts{"q", "k", "o"});
  CHECK(reason(plan.fused, "p", "k") == "a prologue of kgen::matmul takes it");
  CHECK(reason(plan.fused, "q", "k") == "one call of kgen::matmul computes both: 'p' is computed once");
  CHECK(has(plan.text(), "kgen::matmul(prologue_a, kgen::several(w, u, v), kgen::several(q, k, o), stream);"));
  plan.check_placed();
  const PlannedSiblings elsewhere(
      "  - {op: relu, in: x, out: p}\n  - {op: matmul, in: [p, w], out: q}\n"
      "  - {op: matmul, in: [p, u], out: k}\n",
      "q, k, p");
  CHECK_FALSE(together(elsewhere.fused, "p", "q"));
  CHECK(reason(elsewhere.fused, "p", "q") == "'p' is read elsewhere too, so it goes through memory anyway");
}

TEST_CASE("siblings: each may have a prologue of its own") {
  PlannedSiblings plan(
      "  - {op: cast, in: w16, out: wide, to: f32}\n  - {op: cast, in: v16, out: wide_v, to: f32}\n"
      "  - {op: add, in: [wide, t], out: w1}\n  - {op: matmul, in: [x, w1], out: q}\n"
      "  - {op: matmul, in: [x, v], out: k}\n  - {op: mul, in: [wide_v, t], out: v1}\n"
      "  - {op: matmul, in: [x, v1], out: o}\n",
      "q, k, o");
  CHECK(plan.fused.groups.size() == 1);
  CHECK(plan.group("q").prologues.size() == 2);
  const std::string text = plan.text();
  CHECK(has(text, "kgen::several(prologue_b_w1, v, prologue_b_v1)"));
  CHECK(has(text, "struct stub_o_prologue_b_w1 {"));
  plan.check_placed();
}

TEST_CASE("siblings: prologues that differ in what they see alone are objects of one struct") {
  PlannedSiblings plan(
      "  - {op: cast, in: w16, out: wide, to: f32}\n  - {op: cast, in: v16, out: wide_v, to: f32}\n"
      "  - {op: add, in: [wide, t], out: w1}\n  - {op: matmul, in: [x, w1], out: q}\n"
      "  - {op: matmul, in: [x, v], out: k}\n  - {op: add, in: [wide_v, t], out: v1}\n"
      "  - {op: matmul, in: [x, v1], out: o}\n",
      "q, k, o");
  const std::string text = plan.text();
  CHECK(text.find("struct stub_o_prologue {") == text.rfind("struct stub_o_prologue"));  // once
  CHECK_FALSE(has(text, "struct stub_o_prologue_b"));
  // What one sees and the others see too goes by its name, the rest by what it is to the operators.
  CHECK(has(text, "t.load<W>(at)"));
  CHECK_FALSE(has(text, "w16.load<W>(at)"));
  CHECK(has(text, "const stub_o_prologue prologue_b_w1{"));
  CHECK(has(text, "const stub_o_prologue prologue_b_v1{"));
  CHECK(has(text, "kgen::several(prologue_b_w1, v, prologue_b_v1)"));
  plan.check_placed();
}

TEST_CASE("siblings: no more than the kernel takes at once, and of one type") {
  std::string nodes, names;
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i), end = std::to_string(i + 4);
    nodes += i < 5 ? "  - {op: slice, in: r, out: s" + n + ", axis: 0, begin: " + n + ", end: " + end + "}\n"
                   : "  - {op: flip, in: s" + std::to_string(i - 5) + ", out: s" + n + ", axis: 0}\n";
    nodes += "  - {op: matmul, in: [u, s" + n + "], out: y" + n + "}\n";
    names += (i ? ", y" : "y") + n;
  }
  const PlannedSiblings plan(nodes, names);
  CHECK(plan.call("y0") == Texts{"y0", "y1", "y2", "y3", "y4", "y5", "y6", "y7"});
  CHECK(plan.call("y8") == Texts{"y8"});
  CHECK(reason(plan.fused, "y7", "y8") == "kgen::matmul takes at most 8 at once");

  Fixture f(R"(
ops:
- {op: mixed, doc: Two types., kind: structured, types: {T: float, U: float}, kernel: "mine::mixed",
   operands: {x: {type: T, shape: "[M, K]"}, y: {type: U, shape: "[K, N]"}}, results: {out: {type: T, shape: "[M, N]"}}}
)",
            R"(
kernels:
- kernel: mine::mixed
  header: mixed.hpp
  operator: mixed
  kind: structured
  operands: [{name: x, rank: 2, types: float, accepts: source}, {name: y, rank: 2, types: float, accepts: source, several: 2}]
  results: [{name: out, rank: 2, accepts: sink}]
)");
  const FusedGraph mixed = f.fuse_main(inputs +
                                       "nodes:\n  - {op: mixed, in: [x, w], out: a}\n"
                                       "  - {op: mixed, in: [x, w16], out: b}\noutputs: [a, b]\n");
  CHECK(reason(mixed, "a", "b") == "'w16' is bf16[6, 10] and 'w' is f32[6, 10]: a call takes several of one type");
}

TEST_CASE("siblings: at load, and not with those at each call") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(
      "graph: g\ninputs: {w: \"f32[3, 4]\"}\nconstants:\n  c: {type: \"f32[2, 3]\", values: [1, 2, 3, 4, 5, 6]}\n"
      "  d: {type: \"f32[3, 4]\", file: d.safetensors, key: d}\n  e: {type: \"f32[3, 5]\", file: d.safetensors, key: "
      "e}\n"
      "nodes:\n  - {op: matmul, in: [c, d], out: q}\n  - {op: matmul, in: [c, e], out: k}\n"
      "  - {op: matmul, in: [c, w], out: o}\noutputs: [q, k, o]\n");
  CHECK(together(fused, "q", "k"));
  CHECK(fused.groups[group_making(fused, "q")].at_load);
  CHECK_FALSE(together(fused, "k", "o"));
  CHECK(reason(fused, "k", "o") == "one is computed at load, the other at each call");
}

TEST_CASE("siblings: attributes are theirs in common, and operands in memory are several too") {
  PlannedSiblings plan(
      "  - {op: scaled_product, in: [x, w], out: a, factor: 2}\n"
      "  - {op: scaled_product, in: [x, v], out: b, factor: 3}\n"
      "  - {op: scaled_product, in: [x, u], out: c, factor: 2}\n",
      "a, b, c");
  CHECK_FALSE(together(plan.fused, "a", "b"));
  CHECK(plan.call("a") == Texts{"a", "c"});
  CHECK(reason(plan.fused, "a", "b") == "no decision");
  CHECK(has(plan.text(), "mine::scaled_product(x, kgen::several(w, u), /*factor=*/2.0, kgen::several(a, c), stream);"));
}

TEST_CASE("siblings: each result of a kernel has a sink for each of them") {
  Fixture f(R"(
ops:
- {op: parts, doc: Two products., kind: structured, types: {T: float}, kernel: "mine::parts",
   operands: {x: {type: T, shape: "[M, K]"}, y: {type: T, shape: "[K, N]"}},
   results: {low: {type: T, shape: "[M, N]"}, high: {type: T, shape: "[M, N]"}}}
)",
            R"(
kernels:
- kernel: mine::parts
  header: parts.hpp
  operator: parts
  kind: structured
  operands: [{name: x, rank: 2, types: float, accepts: source}, {name: y, rank: 2, types: float, accepts: view, several: 2}]
  results: [{name: low, rank: 2, accepts: sink}, {name: high, rank: 2, accepts: sink}]
)");
  const auto fuse_parts = [&](const std::string& nodes, const std::string& outputs) {
    FusedGraph fused = f.fuse_main(inputs +
                                   "nodes:\n  - {op: parts, in: [x, w], out: [a, b]}\n"
                                   "  - {op: parts, in: [x, v], out: [c, d]}\n" +
                                   nodes + "outputs: [" + outputs + "]\n");
    CHECK(group_problems(fused).empty());
    return fused;
  };
  const FusedGraph fused = fuse_parts("  - {op: relu, in: d, out: y}\n", "a, c, y");
  StubTable table;
  lower(fused, f.ops, "stub_", table);
  CHECK(has(emit_stub(table.take()[0], "g", "stubs", {}).content,
            "mine::parts(x, kgen::several(w, v), kgen::several(a, c), kgen::several(b, epilogue), stream);"));
}

TEST_CASE("siblings: 100,000 of one operand in linear time") {
  Fixture f;
  const auto seconds = [&](int count) {
    std::string text = "graph: g\ninputs: {x: \"f32[8, 6]\"}\nconstants:\n";
    std::string nodes = "nodes:\n  - {op: relu, in: x, out: p}\n", names;
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      text += "  w" + n + ": {type: \"f32[6, 2]\", file: w.safetensors, key: \"" + n + "\"}\n";
      nodes += "  - {op: matmul, in: [p, w" + n + "], out: y" + n + "}\n";
      names += (i ? ", y" : "y") + n;
    }
    const Module module = f.prepare(text + nodes + "outputs: [" + names + "]\n");
    const std::clock_t begin = std::clock();  // not what others on the machine take
    const FusedGraph fused = fuse(module.main, {});
    const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(fused.groups.size() == static_cast<std::size_t>(1 + (count + 7) / 8));
    return taken;
  };
  const double taken = seconds(100'000);
  MESSAGE("fuse of 100,000 siblings: " << taken << " s");
  CHECK(taken < 10);
}

TEST_CASE("siblings: in a function") {
  Fixture f;
  const Module module = f.prepare(
      "graph: g\ninputs: {x: \"f32[8, 6]\"}\nfunctions:\n  block:\n    inputs: {h: \"f32[8, 6]\"}\n    constants:\n"
      "      w: {type: \"f32[6, 6]\", file: w.safetensors, key: \"{index}.w\"}\n"
      "      v: {type: \"f32[6, 6]\", file: w.safetensors, key: \"{index}.v\"}\n"
      "    nodes:\n      - {op: matmul, in: [h, w], out: gate}\n      - {op: matmul, in: [h, v], out: up}\n"
      "      - {op: mul, in: [gate, up], out: y}\n    outputs: [y]\n"
      "nodes:\n  - {call: block, in: x, out: y, repeat: 2}\noutputs: [y]\n");
  REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  const FusedGraph fused = fuse(module.functions[0], {});
  CHECK(fused.groups.size() == 1);
  CHECK(group_problems(fused).empty());
}

TEST_CASE("siblings: a stub of two uses goes by general names") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(
      "graph: g\ninputs: {x: \"f32[8, 6]\", z: \"f32[9, 6]\", w: \"f32[6, 10]\", v: \"f32[6, 11]\"}\nnodes:\n"
      "  - {op: matmul, in: [x, w], out: q}\n  - {op: matmul, in: [x, v], out: k}\n"
      "  - {op: relu, in: q, out: a}\n  - {op: neg, in: k, out: b}\n"
      "  - {op: matmul, in: [z, w], out: q2}\n  - {op: matmul, in: [z, v], out: k2}\n"
      "  - {op: relu, in: q2, out: a2}\n  - {op: neg, in: k2, out: b2}\noutputs: [a, b, a2, b2]\n");
  StubTable table;
  CHECK(lower(fused, f.ops, "stub_", table) == std::vector<std::uint32_t>{0, 0});
  const std::string text = emit_stub(table.take()[0], "g", "stubs", {}).content;
  CHECK(has(text, "// a, b: matmul, relu, neg\n// a2, b2: matmul, relu, neg\n"));
  CHECK(has(text, "struct stub_b_epilogue_matmul_result {"));
  CHECK(has(text,
            "kgen::matmul(a, kgen::several(b, matmul_b), "
            "kgen::several(epilogue_matmul_result, epilogue_matmul_result_2), stream);"));
}

TEST_CASE("siblings: a joint epilogue may take over memory that it reads, separate ones may not") {
  const auto slots = [](const std::string& nodes, const std::string& outputs) {
    PlannedSiblings plan(nodes, outputs);
    Diagnostics diagnostics;
    const FunctionPlan placed = place(schedule(std::move(plan.fused)), {});
    verify(placed, {}, diagnostics);
    CHECK_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
    const auto slot = [&](const char* name) { return placed.placements[value_named(placed.fused.graph, name)].index; };
    return slot("e") == slot("y");
  };
  const std::string head =
      "  - {op: sum, in: r, out: total, axes: [1], keepdims: true}\n"
      "  - {op: mul, in: [r, total], out: e}\n"
      "  - {op: matmul, in: [x, w], out: gate}\n  - {op: matmul, in: [x, v], out: up}\n";
  const std::string tail = "  - {op: softmax, in: y, out: z}\n";
  CHECK(slots(head + "  - {op: mul, in: [gate, up], out: h}\n  - {op: add, in: [h, e], out: y}\n" + tail, "z"));
  CHECK_FALSE(slots(head + "  - {op: add, in: [gate, e], out: y}\n" + tail, "z, up"));
}

TEST_CASE("siblings: what the verifier finds") {
  const auto broken = [](const std::string& message, auto&& spoil) {
    PlannedSiblings plan(three + "  - {op: mul, in: [q, p], out: y}\n", "k, y");
    spoil(plan, plan.fused.groups[group_making(plan.fused, "q")]);
    const std::vector<std::string> found = group_problems(plan.fused);
    CHECK_MESSAGE(std::find(found.begin(), found.end(), message) != found.end(), (found.empty() ? "" : found[0]));
  };
  broken("'k' is called together with a node that differs in more than one operand",
         [](PlannedSiblings& plan, Group& group) {
           plan.fused.graph.nodes[group.root].inputs[0] = value_named(plan.fused.graph, "r");
         });
  broken("'q' has an epilogue on results that are apart", [](PlannedSiblings&, Group& group) {
    std::swap(group.siblings[0], group.siblings[1]);
    group.epilogues[0].results = {0, 2};
  });
  broken("'q' has two epilogues on one result", [](PlannedSiblings&, Group& group) {
    group.epilogues.push_back({{1}, {}});
  });
  broken("'q' has an epilogue on a result that it has not",
         [](PlannedSiblings&, Group& group) { group.epilogues[0].results = {3}; });
  broken("'k' goes to an epilogue with a result of another shape", [](PlannedSiblings&, Group& group) {
    group.epilogues[0].results = {0, 1, 2};
  });
}
