// Rule: a factor on an operand becomes one on the result, or on the other operand. (commute_factors.hpp)
#include <doctest/doctest.h>

#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// Graphs of x: [M, 64] of a dtype, a gain, and constant weights w and v.
struct PlannedFactors {
  Fixture f;
  FusedGraph fused;

  explicit PlannedFactors(const std::string& nodes, const std::string& outputs, const std::string& dtype = "f32",
                          const std::string& more = "", TargetKind target = TargetKind::cpu,
                          Architecture architecture = Architecture::none, const std::string& inputs = "")
      : fused(f.fuse_main("graph: g\ndims: {M: 1..4096, Z: 0..64}\ninputs: {x: \"" + dtype + "[M, 64]\", o: \"" +
                              dtype + "[M, 64]\"" + inputs + "}\nconstants:\n  gain: {type: \"" + dtype +
                              "[64]\", file: w.safetensors, key: gain}\n  w: {type: \"" + dtype +
                              "[64, 48]\", file: w.safetensors, key: w}\n  v: {type: \"" + dtype +
                              "[64, 32]\", file: w.safetensors, key: v}\n  wide: {type: \"" + dtype +
                              "[64, 4096]\", file: w.safetensors, key: wide}\nnodes:\n" + nodes + "outputs: [" +
                              outputs + "]\n" + more,
                          target, architecture)) {
    INFO(f.diagnostics.text(false));
    REQUIRE_FALSE(f.diagnostics.has_errors());
  }

  const Graph& graph() const { return fused.graph; }
  bool has(const std::string& name) const {
    return std::any_of(graph().values.begin(), graph().values.end(),
                       [&](const Value& each) { return each.name == name; });
  }
  bool stores(const std::string& name) const {
    const std::vector<ValueId>& outputs = fused.groups[group_making(fused, name)].outputs;
    return std::find(outputs.begin(), outputs.end(), value_named(graph(), name)) != outputs.end();
  }
  // What was said of the product that makes `name`; empty: its factors were not in question.
  std::string said(const std::string& name) const {
    for (const MovedFactors& each : graph().moved_factors) {
      if (each.value == name) return (each.moved ? "moved: " : "not: ") + each.reason;
    }
    return "";
  }
};

const std::string norm = "  - {op: rms_norm, in: [x, gain], out: n}\n";
const std::string product = "  - {op: matmul, in: [n, w], out: \"y\"}\n";

}  // namespace

TEST_CASE("factors: a statistic of rows scales the product, and a gain the weight at load") {
  const PlannedFactors plan(norm + product, "\"y\"");
  CHECK(plan.said("y") ==
        "moved: 'n_scale' scales the result, and 'gain' scales operand 'b', at load: 'n' is not written, which saves "
        "256*M "
        "bytes for 48*M multiplications more");
  CHECK_FALSE(plan.has("n"));
  CHECK(plan.stores("n_scale"));
  CHECK(together(plan.fused, "y_unscaled", "y"));
  const Group& call = plan.fused.groups[group_making(plan.fused, "y")];
  CHECK(call.kind == GroupKind::structured);
  CHECK(call.prologues.empty());
  CHECK(call.inputs[0] == value_named(plan.graph(), "x"));
  CHECK(plan.fused.groups[group_making(plan.fused, "w_scaled")].at_load);
  CHECK(plan.fused.groups[group_making(plan.fused, "n_scale")].outputs.size() == 1);
}

TEST_CASE("factors: of all that read the operand") {
  const PlannedFactors plan(norm + product + "  - {op: matmul, in: [n, v], out: z}\n", "\"y\", z");
  CHECK_FALSE(plan.has("n"));
  CHECK(together(plan.fused, "y", "z"));
  CHECK(plan.said("z").starts_with("moved: "));
  CHECK(plan.fused.groups[group_making(plan.fused, "y")].outputs.size() == 2);
}

TEST_CASE("factors: behind a division, and of batches by leading axes") {
  const PlannedFactors plan(
      "  - {op: square, in: h, out: q}\n  - {op: sum, in: q, out: s, axes: [-1], keepdims: true}\n"
      "  - {op: sqrt, in: s, out: root}\n  - {op: div, in: [h, root], out: n}\n" +
          product,
      "\"y\"", "f32", "", TargetKind::cpu, Architecture::none, ", h: \"f32[3, M, 64]\"");
  CHECK(plan.said("y").starts_with("moved: 'root' scales the result: 'n' is not written"));
  CHECK(plan.graph().nodes[plan.graph().value(value_named(plan.graph(), "y")).producer].op->name == "div");
}

TEST_CASE("factors: of bf16 in f32, without what rounds in between") {
  const PlannedFactors plan(norm + product, "\"y\"", "bf16", "", TargetKind::cuda, Architecture::sm_90a);
  CHECK(plan.said("y").starts_with("moved: "));
  CHECK_FALSE(plan.has("n"));
  const Group& call = plan.fused.groups[group_making(plan.fused, "y")];
  CHECK(call.inputs[0] == value_named(plan.graph(), "x"));
  CHECK(call.outputs == std::vector{value_named(plan.graph(), "y")});
}

TEST_CASE("factors: not of f16, whose results may be too great without them") {
  CHECK(PlannedFactors(norm + product, "\"y\"", "f16").said("y") ==
        "not: without them the result may be too great for f16");
}

TEST_CASE("factors: not where the order is to be kept") {
  CHECK(PlannedFactors(norm + product, "\"y\"", "f32", "numerics: match_unfused\n").said("y") ==
        "not: `numerics: match_unfused` keeps the order of operators");
}

TEST_CASE("factors: not where the operand is written in any case") {
  CHECK(PlannedFactors(norm + product + "  - {op: exp, in: n, out: e}\n", "\"y\", e").said("y") ==
        "not: 'n', which 'e' reads, is written in any case");
  CHECK(PlannedFactors(norm + product, "\"y\", n").said("y") == "not: 'n' is written in any case");
}

TEST_CASE("factors: not where what is left would be written instead") {
  CHECK(PlannedFactors("  - {op: tanh, in: x, out: t}\n  - {op: rms_norm, in: [t, gain], out: n}\n" + product, "\"y\"")
            .said("y") == "not: 't' would be written in place of 'n'");
  // A kernel writes it in any case, or another reader needs it.
  CHECK(PlannedFactors("  - {op: matmul, in: [x, u], out: p}\n  - {op: add, in: [p, o], out: t}\n"
                       "  - {op: rms_norm, in: [t, gain], out: n}\n" +
                           product,
                       "\"y\"", "f32", "", TargetKind::cpu, Architecture::none, ", u: \"f32[64, 64]\"")
            .said("y")
            .starts_with("moved: "));
  CHECK(
      PlannedFactors("  - {op: tanh, in: x, out: t}\n  - {op: rms_norm, in: [t, gain], out: n}\n" + product, "\"y\", t")
          .said("y")
          .starts_with("moved: "));
}

TEST_CASE("factors: not where results take more than the memory is worth") {
  CHECK(PlannedFactors(norm + "  - {op: matmul, in: [n, wide], out: \"y\"}\n", "\"y\"").said("y") ==
        "not: that saves 256*M bytes of memory traffic, and takes 4096*M multiplications more");
}

TEST_CASE("factors: what stays is a prologue, where the target takes one") {
  const auto plan = [&](const std::string& dtype, TargetKind target, Architecture architecture) {
    return PlannedFactors(norm + "  - {op: matmul, in: [n, u], out: \"y\"}\n", "\"y\"", dtype, "", target, architecture,
                          ", u: \"" + dtype + "[64, 48]\"");
  };
  const PlannedFactors cpu = plan("f32", TargetKind::cpu, Architecture::none);
  CHECK(cpu.said("y").starts_with("moved: 'n_scale' scales the result: 'n' is not written"));
  CHECK(cpu.fused.groups[group_making(cpu.fused, "y")].prologues.size() == 1);
  CHECK(plan("bf16", TargetKind::cuda, Architecture::sm_90a)
            .said("y")
            .find("stays a factor on 'x', and kgen::matmul is much "
                  "faster where it reads 'a' from memory") != std::string::npos);
}

TEST_CASE("factors: not where a sum may have no terms, and what a directive names stays") {
  CHECK(PlannedFactors("  - {op: max, in: h, out: m, axes: [-1], keepdims: true}\n  - {op: mul, in: [h, m], out: n}\n"
                       "  - {op: matmul, in: [n, u], out: \"y\"}\n",
                       "\"y\"", "f32", "", TargetKind::cpu, Architecture::none, ", h: \"f32[M, Z]\", u: \"f32[Z, 8]\"")
            .said("y") == "not: a sum of no products is 0, whatever they are multiplied by");
  CHECK(PlannedFactors(norm + product + "  - {op: exp, in: \"y\", out: e}\n", "e", "f32",
                       "fusion: {forbid: [[\"y\", e]]}\n")
            .said("y") == "not: `fusion` names 'y'");
  CHECK(PlannedFactors(norm + product, "\"y\"", "f32", "fusion: {forbid: [[n, \"y\"]]}\n").said("y") == "");
}

TEST_CASE("factors: a weight that something else reads is not kept twice") {
  const PlannedFactors plan(norm + product + "  - {op: relu, in: w, out: r}\n  - {op: add, in: [r, b], out: z}\n",
                            "\"y\", z", "f32", "", TargetKind::cpu, Architecture::none, ", b: \"f32[64, 48]\"");
  CHECK(plan.said("y").starts_with("moved: 'n_scale' scales the result: 'n' is not written"));
  CHECK(plan.fused.groups[group_making(plan.fused, "y")].prologues.size() == 1);
}

TEST_CASE("factors: a prologue is left where it is") {
  CHECK(PlannedFactors("  - {op: mul, in: [x, gain], out: n}\n" + product, "\"y\"").said("y") == "");
  CHECK(PlannedFactors("  - {op: mul, in: [x, gain], out: n}\n" + product, "\"y\"", "bf16", "", TargetKind::cuda,
                       Architecture::sm_90a)
            .said("y") ==
        "moved: 'gain' scales operand 'b', at load: 'n' is not written, which saves 128*M bytes for 0 multiplications "
        "more");
}

TEST_CASE("factors: of one product behind another") {
  const auto moved = [](int layers) {
    std::string nodes;
    std::string last = "x";
    for (int i = 0; i < layers; ++i) {
      const std::string n = std::to_string(i);
      nodes += "  - {op: rms_norm, in: [" + last + ", gain], out: n" + n + "}\n  - {op: matmul, in: [n" + n +
               ", u], out: p" + n + "}\n";
      last = "p" + n;
    }
    return PlannedFactors(nodes, last, "f32", "", TargetKind::cpu, Architecture::none, ", u: \"f32[64, 64]\"")
        .graph()
        .moved_factors.size();
  };
  CHECK(moved(40) == 40);
}

TEST_CASE("factors: through a reshape that keeps the rows") {
  const std::string batches = ", h: \"f32[3, M, 64]\"";
  const std::string normalised = "  - {op: rms_norm, in: [h, gain], out: n}\n";
  const PlannedFactors plan(normalised + "  - {op: reshape, in: n, out: flat, shape: [3*M, 64]}\n" +
                                "  - {op: matmul, in: [flat, w], out: \"y\"}\n",
                            "\"y\"", "f32", "", TargetKind::cpu, Architecture::none, batches);
  CHECK(plan.said("y").starts_with("moved: 'n_scale' scales the result, and 'gain' scales operand 'b', at load"));
  CHECK_FALSE(plan.has("n"));
  CHECK_FALSE(plan.has("flat"));
  CHECK(plan.stores("n_scale"));
  const Node& scaled = plan.graph().nodes[plan.graph().value(value_named(plan.graph(), "y")).producer];
  const auto is_rows = [&](ValueId id) { return plan.graph().type(id).shape == Shape{Dim(3) * Dim::symbol("M"), 1}; };
  CHECK(std::any_of(scaled.inputs.begin(), scaled.inputs.end(), is_rows));
  const Group& call = plan.fused.groups[group_making(plan.fused, "y")];
  CHECK(call.inputs[0] == value_named(plan.graph(), "h_reshaped"));

  // Rows that become several are no rows.
  const PlannedFactors cut(norm + "  - {op: reshape, in: n, out: flat, shape: [2*M, 32]}\n" +
                               "  - {op: matmul, in: [flat, narrow], out: \"y\"}\n",
                           "\"y\"", "f32", "", TargetKind::cpu, Architecture::none, ", narrow: \"f32[32, 8]\"");
  CHECK(cut.said("y").empty());
  CHECK(cut.has("n"));
}

TEST_CASE("factors: a reshape that something else reads keeps what it shows") {
  const PlannedFactors plan(norm + "  - {op: reshape, in: n, out: flat, shape: [M, 1, 64]}\n" +
                                "  - {op: matmul, in: [flat, w], out: \"y\"}\n  - {op: exp, in: n, out: z}\n",
                            "\"y\", z");
  CHECK(plan.said("y").starts_with("not: "));
  CHECK(plan.has("n"));
}
