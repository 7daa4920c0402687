#include "generator/emit/plan_yaml.hpp"

#include <chrono>

#include "generator/pass/place/place.hpp"
#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

std::string yaml_of(const PlanBuilder& b) {
  Plan plan;
  plan.main = place(b.fused(), {});
  for (Step& step : plan.main.steps) {
    step.stub = static_cast<std::uint32_t>(plan.stubs.size());
    StubProgram stub;
    stub.name = "stub_" + b.fused().graph.value(b.fused().groups[step.group].outputs[0]).name;
    plan.stubs.push_back(std::move(stub));
  }
  const std::string text = emit_plan_yaml(plan, {"graph.yaml", "kgen plan graph.yaml"}).content;
  return text.substr(text.find("graph: "));
}

PlanBuilder example(bool longer) {
  PlanBuilder b("example");
  const Dim m = Dim::symbol("M");
  b.dim("M", 1, 8).input("x", {m, 8}).state("cache", {8, 8});
  if (longer) b.structured("extra", {"x"}, {m, 16});
  b.structured("a", {"x"}, {m, 8})
      .view(reshape_view({m, 2, 4}), "heads", "a", {m, 2, 4})
      .structured("part", {"heads"}, {1, 8});
  b.update(0, m - Dim(1), "all", "cache", "part").elementwise("t", {"all"}).elementwise("y", {"t"});
  for (const char* name : {"t", "y"}) b.fused().graph.nodes[b.producer(name)].within = "softmax";
  if (longer) b.alone(GroupKind::structured, "extra");
  for (const char* name : {"a", "part"}) b.alone(GroupKind::structured, name);
  b.group(GroupKind::elementwise, {"t", "y"}, {"y"})
      .next("cache", "all")
      .outputs(longer ? PlanBuilder::Names{"y", "extra"} : PlanBuilder::Names{"y"});
  b.fused().decisions.push_back(
      {b.id("heads"), b.producer("a"), b.producer("part"), false, "it is \"too\" far", m * Dim(64)});
  return b;
}

TEST_CASE("plan.yaml: stubs, steps, memory and decisions, by name") {
  CHECK(yaml_of(example(false)) ==
        R"(graph: example
stubs:
  stub_a:
    kind: elementwise
    results: {}
    operands: {}
  stub_part:
    kind: elementwise
    results: {}
    operands: {}
  stub_y:
    kind: elementwise
    results: {}
    operands: {}

main:
  steps:
  - {stub: stub_a, op: ~, in: [x], out: [a]}
  - {stub: stub_part, op: ~, in: [heads], out: [part]}
  - stub: stub_y
    nodes:
    - {op: ~, in: [all], out: [t], within: softmax}
    - {op: ~, in: [t], out: ["y"], within: softmax}
  memory:
    x: input
    cache: state cache
    heads: ~ of a
    part: part of all along axis 0 from M - 1
    all: state cache
    "y": output
  arena:
  - {bytes: "32*M", holds: [a]}
  decisions:  # value, its reader, whether one stub computes both, bytes that this saves or would, why
  - [heads, part, apart, "64*M", "it is \"too\" far"]

)");
}

// A change of the graph adds lines and changes none.
TEST_CASE("plan.yaml: what a change does not touch stays as it is") {
  const std::string before = yaml_of(example(false)), after = yaml_of(example(true));
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < before.size();) {
    const std::size_t end = before.find('\n', begin) + 1;
    const std::string line = before.substr(begin, end - begin);
    const std::size_t found = after.find(line, at);
    CHECK_MESSAGE(found != std::string::npos, line);
    if (found != std::string::npos) at = found + line.size();
    begin = end;
  }
}

TEST_CASE("plan.yaml: what was recognised, of the values that are left") {
  const OpSpec softmax{.name = "softmax"};
  PlanBuilder b = example(false);
  b.fused().graph.recognitions = {{"y", &softmax, 5}, {"gone", &softmax, 5}};
  CHECK(yaml_of(b).find("  recognised:  # value, the operator that the graph spells out, in how many operators\n"
                        "  - [\"y\", softmax, 5]\n") != std::string::npos);
  CHECK(yaml_of(b).find("gone") == std::string::npos);
}

TEST_CASE("plan.yaml: 100,000 nodes") {
  PlanBuilder b;
  b.dim("M", 1, 8).input("v0", {Dim::symbol("M"), 64});
  for (int i = 1; i <= 100000; ++i) {
    const std::string name = "v" + std::to_string(i), from = "v" + std::to_string(i - 1);
    b.structured(name, {from}, {Dim::symbol("M"), 64}).alone(GroupKind::structured, name);
    if (i == 1) continue;
    b.fused().decisions.push_back(
        {b.id(from), b.producer(from), b.producer(name), false, "another loop", Dim::symbol("M") * 512});
  }
  b.outputs({"v100000"});
  Plan plan;
  plan.main = place(b.fused(), {});
  const auto start = std::chrono::steady_clock::now();
  const std::string text = emit_plan_yaml(plan, {"graph.yaml", "kgen plan graph.yaml"}).content;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(text.size() < 20'000'000);
  MESSAGE("plan.yaml of 100,000 nodes: " << taken.count() << " s, " << text.size() << " bytes");
}

}  // namespace
}  // namespace kgen
