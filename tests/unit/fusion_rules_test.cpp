// Each kind of fusion switched off: what it joined is apart, and the reason says why; the rest is as it was.
#include <doctest/doctest.h>

#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

FusedGraph fuse_without(Fixture& fixture, const std::string& text, std::vector<FusionRule> rules) {
  const Module module = fixture.prepare(text);
  REQUIRE_MESSAGE(!fixture.diagnostics.has_errors(), fixture.diagnostics.text(false));
  FusedGraph fused = fuse(module.main, {.without = std::move(rules)});
  verify_fused(fused, "fuse", fixture.diagnostics);
  CHECK_MESSAGE(!fixture.diagnostics.has_errors(), fixture.diagnostics.text(false));
  return fused;
}

std::string off(const std::string& rule) { return "the rule '" + rule + "' is switched off (--without)"; }

// A prologue, an epilogue, rows behind them, and a loop in front.
constexpr const char* chain = R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 8]", w: "f32[8, 8]"}
nodes:
  - {op: exp, in: a, out: b}
  - {op: tanh, in: b, out: c}
  - {op: matmul, in: [c, w], out: d}
  - {op: relu, in: d, out: e}
  - {op: sum, in: e, axes: [1], keepdims: true, out: f}
  - {op: mul, in: [e, f], out: y}
outputs: [y]
)";

constexpr const char* rows_alone = R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 8]"}
nodes:
  - {op: exp, in: x, out: a}
  - {op: tanh, in: a, out: b}
  - {op: sum, in: b, axes: [1], out: c}
outputs: [c]
)";

}  // namespace

TEST_CASE("without: a rule that is switched off joins nothing, and the others join as ever") {
  Fixture f;
  CHECK(fuse_without(f, chain, {}).groups.size() == 2);
  const FusedGraph loops = fuse_without(f, chain, {FusionRule::loop});
  CHECK(reason(loops, "b", "c") == off("loop"));
  CHECK(reason(loops, "d", "e") == "the epilogue of kgen::matmul takes it");
  const FusedGraph rows = fuse_without(f, rows_alone, {FusionRule::rows});
  CHECK(reason(rows, "b", "c") == off("rows"));
  CHECK(reason(rows, "a", "b") == "they walk the same loop");
  const FusedGraph prologues = fuse_without(f, chain, {FusionRule::prologue});
  CHECK(reason(prologues, "c", "d") == off("prologue"));
  CHECK(reason(prologues, "b", "c") == "they walk the same loop");
  const FusedGraph epilogues = fuse_without(f, chain, {FusionRule::epilogue});
  CHECK(reason(epilogues, "d", "e") == off("epilogue"));
  CHECK(reason(epilogues, "c", "d") == "a prologue of kgen::matmul takes it");
}

TEST_CASE("without: all rules leave each node a stub of its own") {
  Fixture f;
  std::vector<FusionRule> all;
  for (const std::string& name : fusion_rule_names()) all.push_back(*fusion_rule_named(name));
  const FusedGraph fused = fuse_without(f, chain, all);
  CHECK(fused.groups.size() == fused.graph.nodes.size());
  CHECK(reason(fused, "b", "c") == off("loop"));
  CHECK(!fusion_rule_named("nothing"));
}

TEST_CASE("without: siblings and joint epilogues, values computed again") {
  const char* text = R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 32]", v: "f32[32, 32]", w: "f32[32, 32]"}
nodes:
  - {op: relu, in: x, out: s}
  - {op: matmul, in: [s, v], out: a}
  - {op: matmul, in: [s, w], out: b}
  - {op: mul, in: [a, b], out: y}
outputs: [y]
)";
  Fixture f;
  CHECK(fuse_without(f, text, {}).groups.size() == 1);
  const FusedGraph joint = fuse_without(f, text, {FusionRule::joint_epilogue});
  CHECK(reason(joint, "a", "y") == off("joint_epilogue"));
  const FusedGraph again = fuse_without(f, text, {FusionRule::siblings});
  REQUIRE(again.recomputations.size() == 1);
  CHECK(again.recomputations[0].copies.size() == 1);
  const FusedGraph neither = fuse_without(f, text, {FusionRule::siblings, FusionRule::recompute});
  CHECK(neither.recomputations.empty());
}
