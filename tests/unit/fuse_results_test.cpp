// Kernels of several results: an epilogue on each, or on those that a kernel gives at one position.
#include <doctest/doctest.h>

#include <regex>

#include "generator/emit/observe.hpp"
#include "generator/emit/stub.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/verify/verify.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// An operator of two results of one shape and a third of another; the kernel takes no epilogue on `count`.
const char* const ops = R"(
ops:
- op: split
  doc: Three results.
  kind: structured
  types: {T: float}
  operands: {x: {type: T, shape: "[M, N]"}}
  results: {low: {type: T, shape: "[M, N]"}, high: {type: T, shape: "[M, N]"}, count: {type: T, shape: "[M]"}}
  kernel: mine::split
)";
const char* const kernels = R"(
kernels:
- kernel: mine::split
  header: split.hpp
  operator: split
  kind: structured
  operands: [{name: x, rank: 2, types: float, accepts: source}]
  results:
  - {name: low, rank: 2, accepts: sink}
  - {name: high, rank: 2, accepts: sink}
  - {name: count, rank: 1, accepts: view}
)";

// Gives `low` and `high` at one position.
const std::string jointly =
    std::regex_replace(kernels, std::regex(R"(  - \{name: low, rank: 2, accepts: sink\}\n  - \{name: high.*\n)"),
                       "  - {name: parts, rank: 2, accepts: sink, joint: 2}\n");

struct PlannedResults {
  Fixture f;
  FusedGraph fused;

  PlannedResults(const std::string& nodes, const std::string& outputs, const char* signatures = kernels)
      : f(ops, signatures) {
    fused = f.fuse_main("graph: g\ninputs: {x: \"f32[8, 6]\", r: \"f32[8, 6]\", s: \"f32[8]\"}\nnodes:\n" +
                        std::string("  - {op: split, in: x, out: [low, high, count]}\n") + nodes + "outputs: [" + outputs +
                        "]\n");
  }
  const Group& kernel() const { return fused.groups[group_making(fused, "low")]; }
  std::vector<std::string> stored() const {
    std::vector<std::string> names;
    for (const ValueId output : kernel().outputs) names.push_back(fused.graph.value(output).name);
    return names;
  }
  // "low: a b", by epilogue.
  std::vector<std::string> epilogues() const {
    std::vector<std::string> texts;
    for (const Epilogue& epilogue : kernel().epilogues) {
      std::string text;
      for (const std::size_t result : epilogue.results) text += fused.graph.nodes[kernel().root].op->results[result].name;
      for (const NodeId id : epilogue.nodes) text += " " + fused.graph.value(fused.graph.nodes[id].outputs[0]).name;
      texts.push_back(text);
    }
    return texts;
  }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("results: each takes an epilogue of its own, and is stored only where something else reads it") {
  const PlannedResults plan(
      "  - {op: relu, in: low, out: a}\n  - {op: neg, in: high, out: b}\n  - {op: add, in: [b, r], out: c}\n",
      "a, b, c, count");
  CHECK(plan.epilogues() == Texts{"low a", "high b c"});
  CHECK(plan.stored() == Texts{"count", "a", "b", "c"});
  CHECK(reason(plan.fused, "high", "b") == "the epilogue on 'high' of mine::split takes it");
  const PlannedResults kept("  - {op: relu, in: low, out: a}\n", "low, a, high, count");
  CHECK(kept.stored() == Texts{"low", "high", "count", "a"});
}

TEST_CASE("results: what nothing reads is still written where no epilogue takes it") {
  const PlannedResults plan("  - {op: relu, in: low, out: a}\n", "a");
  CHECK(plan.stored() == Texts{"high", "count", "a"});
}

TEST_CASE("results: an epilogue takes those of one result, and only where the kernel takes one") {
  const PlannedResults both("  - {op: add, in: [low, high], out: a}\n", "a, count");
  CHECK(both.epilogues() == Texts{});
  CHECK(reason(both.fused, "low", "a") == "it takes 2 results of mine::split, and each goes to an epilogue of its own");
  const PlannedResults later(
      "  - {op: relu, in: low, out: p}\n  - {op: neg, in: high, out: q}\n  - {op: mul, in: [p, q], out: a}\n",
      "a, count");
  CHECK(later.epilogues() == Texts{"low p", "high q"});
  CHECK(later.stored() == Texts{"count", "p", "q"});
  const PlannedResults counted("  - {op: mul, in: [count, s], out: a}\n", "a, low, high");
  CHECK(reason(counted.fused, "count", "a") == "the result 'count' of mine::split takes no epilogue");
}

TEST_CASE("results: a joint epilogue takes those that the kernel gives at one position") {
  const PlannedResults both(
      "  - {op: relu, in: low, out: p}\n  - {op: neg, in: high, out: q}\n  - {op: mul, in: [p, q], out: a}\n",
      "a, high, count", jointly.c_str());
  CHECK(both.epilogues() == Texts{"lowhigh p q a"});
  CHECK(both.stored() == Texts{"high", "count", "a"});
  CHECK(reason(both.fused, "p", "a") == "the epilogue on 'low' and 'high' of mine::split takes it");
  const PlannedResults apart("  - {op: relu, in: low, out: p}\n  - {op: neg, in: high, out: q}\n", "p, q, count",
                      jointly.c_str());
  CHECK(apart.epilogues() == Texts{"low p", "high q"});
  const PlannedResults later("  - {op: mul, in: [low, high], out: a}\n  - {op: relu, in: low, out: b}\n", "a, b, count",
                      jointly.c_str());
  CHECK(later.epilogues() == Texts{"lowhigh a b"});
  CHECK(later.stored() == Texts{"count", "a", "b"});
  const PlannedResults guest(
      "  - {op: exp, in: r, out: t}\n  - {op: add, in: [low, t], out: p}\n  - {op: mul, in: [p, high], out: a}\n",
      "a, count", jointly.c_str());
  CHECK(guest.epilogues() == Texts{"lowhigh t p a"});
}

TEST_CASE("results: a stub with a joint epilogue, and one with a sink for each") {
  PlannedResults plan("  - {op: mul, in: [low, high], out: a}\n", "a, count", jointly.c_str());
  StubTable table;
  lower(plan.fused, plan.f.ops, "stub_", table);
  const std::string joint = emit_stub(table.take()[0], "g", "stubs", {}).content;
  CHECK(joint.find("kgen::Vec<float, W> low, kgen::Vec<float, W> high) const {") != std::string::npos);
  CHECK(joint.find("mine::split(x, epilogue, count, stream);") != std::string::npos);
  const std::string copy = observed_source(joint, "stubs/stub_a.cpp");
  CHECK(copy.find("stub_a_epilogue.low") != std::string::npos);
  CHECK(copy.find("stub_a_epilogue.high") != std::string::npos);
  PlannedResults apart("  - {op: relu, in: low, out: p}\n", "p, high, count", jointly.c_str());
  StubTable others;
  lower(apart.fused, apart.f.ops, "stub_", others);
  const std::string each = emit_stub(others.take()[0], "g", "stubs", {}).content;
  CHECK(each.find("mine::split(x, kgen::each(epilogue, high), count, stream);") != std::string::npos);
}

TEST_CASE("results: a stub that stores several takes over no memory that an epilogue reads") {
  PlannedResults plan(
      "  - {op: exp, in: r, out: t}\n  - {op: relu, in: low, out: a}\n  - {op: add, in: [high, t], out: b}\n"
      "  - {op: sum, in: a, out: y, axes: [0]}\n  - {op: sum, in: b, out: z, axes: [0]}\n",
      "y, z, count");
  Diagnostics diagnostics;
  const FunctionPlan placed = place(schedule(std::move(plan.fused)), {});
  verify(placed, {}, diagnostics);
  CHECK_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
  const auto slot = [&](const char* name) { return placed.placements[value_named(placed.fused.graph, name)].index; };
  CHECK(slot("b") != slot("t"));
}

TEST_CASE("results: what a kernel gives in other lanes than its result's is converted as it arrives") {
  const std::string wide = std::regex_replace(kernels, std::regex("name: low, rank: 2, accepts: sink"),
                                              "name: low, rank: 2, accepts: sink, element: f64");
  PlannedResults plan("  - {op: relu, in: low, out: a}\n", "a, high, count", wide.c_str());
  StubTable table;
  lower(plan.fused, plan.f.ops, "stub_", table);
  const std::string text = emit_stub(table.take().front(), "g", "stubs", {"g.yaml", "kgen plan g.yaml"}).content;
  CHECK(text.find("kgen::Vec<double, W> low") != std::string::npos);
  CHECK(text.find("kgen::Cast<float>::apply(low)") != std::string::npos);
}
