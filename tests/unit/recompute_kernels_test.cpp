// Values that are computed again in the ports of kernels, of siblings, beside states and prepared weights.
#include <doctest/doctest.h>

#include "generator/emit/stub.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/pass/lower/lower_plan.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/verify/verify.hpp"
#include "generator/pass/verify/verify_groups.hpp"
#include "generator/pass/verify/verify_views.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

using Names = std::vector<std::string>;

// A graph that is planned to its stubs; each pass is verified.
struct PlannedKernels {
  Fixture f;
  FusedGraph fused;
  StubTable stubs;
  FunctionPlan plan;

  explicit PlannedKernels(const std::string& nodes, const std::string& outputs, const std::string& inputs = "",
                          const std::string& more = "") {
    fused = f.fuse_main(
        "graph: g\ndims: {M: 16..8192}\ninputs: {x: \"f32[M, 64]\", o: \"f32[M, 64]\", each: \"f32[M, 1]\", v: "
        "\"f32[64, 32]\", w: \"f32[64, 48]\", u: \"f32[64, 64]\"" +
        inputs + "}\nnodes:\n" + nodes + "outputs: [" + outputs + "]\n" + more);
    plan = lower_plan(place(schedule(fused), {}), "", f.ops, stubs);
    verify(plan, {}, f.diagnostics);
    INFO(f.diagnostics.text(false));
    REQUIRE_FALSE(f.diagnostics.has_errors());
  }

  const Graph& graph() const { return fused.graph; }
  const Group& group(const std::string& value) const { return fused.groups[group_making(fused, value)]; }
  NodeId node(const std::string& value) const { return graph().value(value_named(graph(), value)).producer; }
  const Recomputation* of(const std::string& name) const {
    for (const Recomputation& each : fused.recomputations) {
      if (graph().value(each.value).name == name) return &each;
    }
    return nullptr;
  }
  bool is_stored(const std::string& name) const {
    const std::vector<ValueId>& outputs = group(name).outputs;
    return std::find(outputs.begin(), outputs.end(), value_named(graph(), name)) != outputs.end();
  }
  Names read_by(const std::string& name) const {
    Names names;
    for (const ValueId input : group(name).inputs) names.push_back(graph().value(input).name);
    return names;
  }
  // What the nodes of a port make, as the graph calls it.
  Names made_by(const std::vector<NodeId>& nodes) const {
    Names names;
    for (const NodeId id : nodes) names.push_back(written_name(graph(), graph().nodes[id].outputs[0]));
    return names;
  }
};

}  // namespace

TEST_CASE("recompute: siblings take it as one prologue on what they share") {
  const PlannedKernels plan(
      "  - {op: mul, in: [x, 2], out: s}\n  - {op: sum, in: s, out: r, axes: [0]}\n"
      "  - {op: matmul, in: [s, v], out: a}\n  - {op: matmul, in: [s, w], out: b}\n",
      "r, a, b");
  CHECK(together(plan.fused, "a", "b"));
  CHECK_FALSE(plan.is_stored("s"));
  const Group& call = plan.group("a");
  REQUIRE(roots_of(call) == std::vector<NodeId>{plan.node("a"), plan.node("b")});
  REQUIRE(call.prologues.size() == 1);
  CHECK(call.prologues[0].operand == 0);
  CHECK(call.prologues[0].reader == no_id);
  CHECK(plan.made_by(call.prologues[0].nodes) == Names{"s"});
  CHECK(plan.graph().nodes[call.root].inputs[0] == plan.graph().nodes[call.siblings[0]].inputs[0]);
  CHECK(plan.read_by("a") == Names{"x", "v", "w"});
  CHECK(plan.of("s")->copies.size() == 1);
  CHECK(reason(plan.fused, "a", "b") == "one call of kgen::matmul computes both: 's' is computed once");
}

TEST_CASE("recompute: a prologue uses statistics of its row that memory holds, where the graph keeps the rows apart") {
  const PlannedKernels plan(
      "  - {op: mean, in: x, axes: [1], keepdims: true, out: m}\n  - {op: sub, in: [x, m], out: c}\n"
      "  - {op: mul, in: [c, c], out: cc}\n  - {op: mean, in: cc, axes: [1], keepdims: true, out: var}\n"
      "  - {op: rsqrt, in: var, out: r}\n  - {op: mul, in: [c, r], out: n}\n  - {op: matmul, in: [n, w], out: y}\n",
      "y, m, r", "", "fusion: {forbid: [[r, n]]}\n");
  CHECK(together(plan.fused, "m", "r"));
  CHECK_FALSE(together(plan.fused, "r", "y"));
  CHECK_FALSE(plan.is_stored("c"));
  const Group& call = plan.group("y");
  REQUIRE(call.prologues.size() == 1);
  CHECK(plan.made_by(call.prologues[0].nodes) == Names{"c", "n"});
  CHECK(plan.read_by("y") == Names{"x", "m", "r", "w"});
}

TEST_CASE("recompute: one of siblings takes it as a prologue on its own operand") {
  const PlannedKernels plan(
      "  - {op: mul, in: [v, 2], out: s}\n  - {op: sum, in: s, out: r, axes: [1]}\n"
      "  - {op: matmul, in: [x, w], out: a}\n  - {op: matmul, in: [x, s], out: b}\n",
      "r, a, b");
  REQUIRE(together(plan.fused, "a", "b"));
  CHECK_FALSE(plan.is_stored("s"));
  const Group& call = plan.group("a");
  REQUIRE(call.prologues.size() == 1);
  CHECK(call.prologues[0].operand == 1);
  CHECK(call.prologues[0].reader == plan.node("b"));
  CHECK(plan.read_by("b") == Names{"v", "x", "w"});
}

TEST_CASE("recompute: a joint epilogue of siblings takes it") {
  const PlannedKernels plan(
      "  - {op: mul, in: [z, 2], out: s}\n  - {op: sum, in: s, out: r, axes: [0]}\n"
      "  - {op: matmul, in: [x, v], out: a}\n  - {op: matmul, in: [x, p], out: b}\n"
      "  - {op: mul, in: [a, b], out: c}\n  - {op: add, in: [c, s], out: d}\n",
      "r, d", ", z: \"f32[M, 32]\", p: \"f32[64, 32]\"");
  REQUIRE(together(plan.fused, "a", "b"));
  CHECK_FALSE(plan.is_stored("s"));
  const Group& call = plan.group("d");
  REQUIRE(call.epilogues.size() == 1);
  CHECK(call.epilogues[0].results == std::vector<std::size_t>{0, 1});
  CHECK(plan.made_by(call.epilogues[0].nodes) == Names{"s", "c", "d"});
}

TEST_CASE("recompute: an epilogue behind a reshape takes it by the axes of its loop") {
  const PlannedKernels plan(
      "  - {op: mul, in: [z, scale], out: s}\n  - {op: sum, in: s, out: r, axes: [0]}\n"
      "  - {op: matmul, in: [x, u], out: q}\n  - {op: reshape, in: q, out: h, shape: [M, 4, 16]}\n"
      "  - {op: add, in: [h, s], out: y}\n",
      "r, y", ", z: \"f32[M, 4, 16]\", scale: \"f32[16]\"");
  CHECK(together(plan.fused, "q", "y"));
  CHECK_FALSE(plan.is_stored("s"));
  CHECK(plan.made_by(plan.group("y").epilogues.at(0).nodes) == Names{"s", "y"});
  CHECK(plan.read_by("y") == Names{"z", "scale", "x", "u"});
}

TEST_CASE("recompute: not where a kernel reads it from memory") {
  const PlannedKernels plan(
      "  - {op: relu, in: z, out: s}\n  - {op: attention, in: [z, s, z], out: y}\n"
      "  - {op: sum, in: s, out: a, axes: [3]}\n  - {op: sum, in: s, out: b, axes: [1]}\n",
      "y, a, b", ", z: \"f32[1, M, 1, 64]\"");
  CHECK(plan.is_stored("s"));
  CHECK(plan.of("s") == nullptr);
}

TEST_CASE("recompute: a prologue behind a reshape takes it") {
  const PlannedKernels plan(
      "  - {op: mul, in: [z, 2], out: s}\n  - {op: cumsum, in: s, out: c, axis: 0}\n"
      "  - {op: cumsum, in: s, out: k, axis: 1}\n  - {op: add, in: [c, k], out: d}\n"
      "  - {op: mul, in: [d, s], out: t}\n"
      "  - {op: reshape, in: t, out: flat, shape: [M, 64]}\n  - {op: matmul, in: [flat, v], out: a}\n",
      "a", ", z: \"f32[M, 4, 16]\"", "fusion: {forbid: [[c, d], [k, d]]}\n");
  REQUIRE(together(plan.fused, "t", "a"));
  CHECK_FALSE(plan.is_stored("s"));
  const Group& call = plan.group("a");
  REQUIRE(call.prologues.size() == 1);
  CHECK(plan.made_by(call.prologues[0].nodes) == Names{"s", "d", "t"});
  CHECK(plan.read_by("a") == Names{"z", "c", "k", "v"});
}

// s is computed again before t is, and by all that compute t then; c's and k's prologues take it by themselves.
TEST_CASE("recompute: a loop that has a part of it does not compute that twice") {
  const PlannedKernels plan(
      "  - {op: mul, in: [x, 2], out: s}\n  - {op: add, in: [s, each], out: t}\n"
      "  - {op: cumsum, in: s, out: c, axis: 0}\n  - {op: cumsum, in: s, out: k, axis: 1}\n"
      "  - {op: mul, in: [c, s], out: d0}\n  - {op: add, in: [d0, t], out: d}\n"
      "  - {op: mul, in: [k, s], out: e0}\n  - {op: sub, in: [e0, t], out: e}\n",
      "d, e");
  REQUIRE(plan.fused.groups.size() == 2);
  for (const auto& [result, last] : {std::pair("d", "d0"), std::pair("e", "e0")}) {
    const Group& call = plan.group(result);
    REQUIRE(call.prologues.size() == 1);
    REQUIRE(call.epilogues.size() == 1);
    CHECK(plan.made_by(call.prologues[0].nodes) == Names{"s"});
    CHECK(plan.made_by(call.epilogues[0].nodes) == Names{"s", "t", last, result});
    CHECK(plan.read_by(result) == Names{"x", "each"});
  }
  CHECK(plan.of("s")->copies.size() == 3);
  CHECK(plan.of("t")->copies.size() == 1);
  for (const Recomputation& each : plan.fused.recomputations) {
    for (const ValueId copy : each.copies) CHECK(plan.graph().value(copy).again_of == each.value);
  }
}

// t goes to b's stub, where it reads another s; k's stub copies it as it was.
TEST_CASE("recompute: what moves is copied as it was") {
  const PlannedKernels plan(
      "  - {op: relu, in: x, out: s}\n  - {op: sub, in: [s, each], out: t}\n"
      "  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: t, out: b, axes: [1]}\n"
      "  - {op: cumsum, in: t, out: k, axis: 0}\n",
      "a, b, k");
  CHECK(plan.fused.groups.size() == 3);
  CHECK(plan.made_by(plan.group("b").nodes) == Names{"s", "t", "b"});
  CHECK(plan.made_by(plan.group("k").nodes) == Names{"s", "t", "k"});
  CHECK(plan.read_by("k") == Names{"x", "each"});
}

TEST_CASE("recompute: what memory no longer holds when its readers run is not computed again") {
  const std::string sums =
      "  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: [1]}\n"
      "  - {op: add, in: [h, o], out: next}\n";
  const auto with_state = [&](const std::string& maker, const std::string& outputs) {
    return PlannedKernels("  - {op: mul, in: [" + maker + ", 2], out: s}\n" + sums, outputs, "",
                          "state: {h: {type: \"f32[M, 64]\", next: next}}\n");
  };
  CHECK_FALSE(with_state("x", "a, b").is_stored("s"));
  const PlannedKernels state = with_state("h", "a, b");
  CHECK(state.is_stored("s"));
  CHECK(state.of("s") == nullptr);
  // The next value is written once, and stays.
  const PlannedKernels next = with_state("next", "a, b");
  CHECK(next.is_stored("next"));
  CHECK_FALSE(next.is_stored("s"));

  // A view of a state, and what an update makes of it.
  const std::string cache = "state: {h: {type: \"f32[M, 64]\", next: kept}}\n";
  for (const std::string read : {"shown", "kept"}) {
    const PlannedKernels updated(
        "  - {op: slice, in: o, out: row, axis: 0, begin: 0, end: 16}\n  - {op: relu, in: row, out: fresh}\n"
        "  - {op: index_update, in: [h, fresh], out: kept, axis: 0}\n"
        "  - {op: reshape, in: kept, out: shown, shape: [M, 64]}\n  - {op: mul, in: [" +
            read + ", 2], out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: [1]}\n",
        "a, b", "", cache);
    CHECK(updated.is_stored("s"));
    CHECK(updated.of("s") == nullptr);
  }
}

TEST_CASE("recompute: beside weights that are prepared at load, and nothing at load") {
  const std::string weights =
      "constants: {p: {type: \"f32[64, 32]\", file: w.safetensors, key: p}, q: {type: \"f32[64, 48]\", file: "
      "w.safetensors, key: q}}\n";
  const PlannedKernels plan(
      "  - {op: mul, in: [x, 2], out: s}\n  - {op: sum, in: s, out: r, axes: [0]}\n"
      "  - {op: matmul, in: [s, p], out: a}\n  - {op: matmul, in: [s, q], out: b}\n",
      "r, a, b", "", weights);
  CHECK_FALSE(plan.is_stored("s"));
  const Group& call = plan.group("a");
  CHECK(plan.graph().nodes[call.root].op->name == "packed_matmul");
  REQUIRE(call.prologues.size() == 1);
  CHECK(plan.made_by(call.prologues[0].nodes) == Names{"s"});
  for (const Group& group : plan.fused.groups) {
    if (!group.at_load) continue;
    for (const NodeId id : group.nodes) CHECK(plan.graph().value(plan.graph().nodes[id].outputs[0]).again_of == no_id);
  }
  // Computed once, when the model is loaded.
  const PlannedKernels load(
      "  - {op: mul, in: [p, 2], out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n"
      "  - {op: sum, in: s, out: b, axes: [1]}\n",
      "a, b", "", weights);
  CHECK(load.fused.recomputations.empty());
}

TEST_CASE("recompute: nothing that has no elements") {
  const PlannedKernels plan(
      "  - {op: mul, in: [z, 2], out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n"
      "  - {op: sum, in: s, out: b, axes: [1]}\n",
      "a, b", ", z: \"f32[0, 64]\"");
  CHECK(plan.fused.recomputations.empty());
}
