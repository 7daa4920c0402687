// Numbers of the rows that a kernel stores: where that makes them itself, and why it does not.
#include <doctest/doctest.h>

#include "generator/emit/stub.hpp"
#include "tests/unit/introspect_fixture.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// A product with a residual, and `nodes` that make a value n of its sum h.
std::string reduced(const std::string& nodes, const std::string& outputs = "[h, n]",
                    const std::string& dtype = "bf16") {
  return "graph: g\ninputs: {a: \"" + dtype + "[256, 64]\", w: \"" + dtype + "[64, 128]\", x: \"" + dtype +
         "[256, 128]\"}\nnodes:\n  - {op: matmul, in: [a, w], out: p}\n  - {op: add, in: [p, x], out: h}\n" + nodes +
         "outputs: " + outputs + "\n";
}
const std::string squares =
    "  - {op: square, in: h, out: s}\n  - {op: sum, in: s, axes: [-1], keepdims: true, out: n}\n";

struct PlannedStatistics {
  Fixture f;
  FusedGraph fused;

  explicit PlannedStatistics(const std::string& text, TargetKind target = TargetKind::cuda,
                             std::vector<FusionRule> without = {}) {
    const Architecture architecture = target == TargetKind::cuda ? Architecture::sm_90a : Architecture::none;
    Module module = f.prepare(text, target, architecture);
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    fused = fuse(module.main, {.without = std::move(without)});
    verify_fused(fused, "fuse", f.diagnostics);
    CHECK_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  }
  bool fuses() const { return together(fused, "h", "n"); }
  // Why what reads h is apart from it.
  std::string why() const {
    for (const Decision& made : fused.decisions) {
      if (fused.graph.value(made.value).name == "h") return made.reason;
    }
    return "no decision";
  }
};

}  // namespace

TEST_CASE("statistics: what is reduced of the rows that a product stores is made by its kernel") {
  const PlannedStatistics plan(reduced(squares));
  REQUIRE(plan.fuses());
  REQUIRE(plan.fused.groups.size() == 1);
  const Group& group = plan.fused.groups[0];
  CHECK(group.kind == GroupKind::structured);
  CHECK(group.statistics.nodes.size() == 2);
  CHECK(group.outputs.size() == 2);
  // h is stored though nothing else reads it: other ways to the product read it again.
  CHECK(PlannedStatistics(reduced(squares, "[n]")).fused.groups[0].outputs.size() == 2);
  const auto problems = [&](auto spoil) {
    FusedGraph fused = plan.fused;
    spoil(fused.groups[0]);
    Diagnostics diagnostics;
    verify_fused(fused, "fuse", diagnostics);
    return diagnostics.text(false);
  };
  CHECK(problems([](Group&) {}) == "");
  CHECK(problems([](Group& spoilt) { spoilt.statistics.nodes.pop_back(); }).find("rides in no port") !=
        std::string::npos);
  CHECK(problems([](Group& spoilt) {
          spoilt.statistics.of = spoilt.inputs[0];
        }).find("is reduced by rows, and not what its kernel stores") != std::string::npos);
}

TEST_CASE("statistics: why a stub of its own makes them") {
  CHECK(!PlannedStatistics(reduced(squares), TargetKind::cuda, {FusionRule::statistics}).fuses());
  // Where the kernel never makes any, the reason is that of every reduction behind it.
  CHECK(PlannedStatistics(reduced(squares), TargetKind::cpu).why().find("kgen::matmul makes numbers") ==
        std::string::npos);
  const std::string divided = squares + "  - {op: div, in: [h, n], out: q}\n";
  CHECK(PlannedStatistics(reduced(divided, "[h, q]")).why().find("is as large as what it is made of") !=
        std::string::npos);
  const std::string columns = "  - {op: sum, in: h, axes: [0], keepdims: true, out: n}\n";
  CHECK(PlannedStatistics(reduced(columns)).why().find("the rows of") != std::string::npos);
  const std::string greatest = "  - {op: argmax, in: h, axes: [-1], out: n}\n";
  CHECK(PlannedStatistics(reduced(greatest)).why().find("is no f32 number made of such numbers") != std::string::npos);
}

TEST_CASE("introspect: which results may have statistics of their rows") {
  const Introspected found = introspected(
      "template <Source<2> X, Sink<float, 2> Out>\nKGEN_KERNEL(f)\nKGEN_STATISTICS(out, \"target == gpu\")\n"
      "void f(const X& x, const Out& out, Stream stream = {});\n");
  CHECK(found.messages == "");
  CHECK(found.kernels.find("statistics: \"target == gpu\"") != std::string::npos);
  CHECK(introspected("template <Source<2> X, Sink<float, 2> Out>\nKGEN_KERNEL(f)\nKGEN_STATISTICS(out, \"1\", \"2\")\n"
                     "void f(const X& x, const Out& out, Stream stream = {});\n")
            .messages.find("write it as: KGEN_STATISTICS(c, \"condition\")") != std::string::npos);
}
