#include "generator/explain/explain.hpp"

#include "generator/explain/overview.hpp"
#include "generator/pass/place/place.hpp"
#include "tests/unit/plan_builder.hpp"
#include "tests/unit/plan_fixture.hpp"

namespace kgen {
namespace {

const OpSpec& op(const std::string& name) {
  static std::map<std::string, OpSpec> ops;
  ops[name].name = name;
  return ops[name];
}

// C = matmul(A, B), sum = add(C, bias) and y = relu(sum) are one stub; z = softmax(t), where t views y, is another.
struct Example {
  PlanBuilder b{"example"};
  Plan plan;

  Example() {
    b.input("A", {8, 8}).input("B", {8, 8}).constant("half", {}, {0.5}).structured("C", {"A", "B"}, {8, 8});
    b.elementwise("sum", {"C", "half"}).elementwise("y", {"sum"}).view(permute_view({1, 0}), "t", "y", {8, 8});
    b.structured("z", {"t"}, {8, 8}).elementwise("other", {"A"});
    b.group(GroupKind::structured, {"C", "sum", "y"}, {"y"}).alone(GroupKind::structured, "z");
    b.alone(GroupKind::elementwise, "other").outputs({"z", "y", "other"});
    const char* ops[] = {"matmul", "add", "relu", "transpose", "softmax", "neg"};
    for (NodeId i = 0; i < b.fused().graph.nodes.size(); ++i) b.fused().graph.nodes[i].op = &op(ops[i]);
    decide("C", "sum", "C", true, "the epilogue of kgen::matmul takes it");
    decide("sum", "y", "sum", true, "the epilogue of kgen::matmul takes it");
    decide("y", "z", "t", false, "'t' is a view, read in place from memory");
    plan.main = place(b.fused(), {});
    for (Step& step : plan.main.steps) {
      step.stub = static_cast<std::uint32_t>(plan.stubs.size());
      StubProgram stub;
      stub.name = "stub_" + b.fused().graph.value(b.fused().groups[step.group].outputs[0]).name;
      if (stub.name == "stub_y") {
        stub.kernel = "kgen::matmul";
        stub.kernel_parameters = {"kgen::row_major", "kgen::few_rows"};
      }
      plan.stubs.push_back(stub);
    }
  }
  void decide(const std::string& producer, const std::string& consumer, const std::string& value, bool fused,
              const std::string& reason) {
    b.fused().decisions.push_back({b.id(value), b.producer(producer), b.producer(consumer), fused, reason, Dim(512)});
  }
  std::string between(const std::string& a, const std::string& c) {
    Diagnostics diagnostics;
    const std::string text = explain(plan, a, c, diagnostics);
    CHECK_FALSE(diagnostics.has_errors());
    return text;
  }
};

TEST_CASE("explain: every stub, what is in it, what it saves, and each decision") {
  const Example example;
  CHECK(explain(example.plan) ==
        "example: 5 operators in 3 stubs\n"
        "\n"
        "stub_y with kgen::matmul<kgen::row_major, kgen::few_rows>, saves 1024 bytes\n"
        "  C = matmul(A, B)  :1\n"
        "  sum = add(C, 0.5)  :2\n"
        "  y = relu(sum)  :3\n"
        "    C -> sum: the epilogue of kgen::matmul takes it (saves 512 bytes)\n"
        "    sum -> y: the epilogue of kgen::matmul takes it (saves 512 bytes)\n"
        "\n"
        "stub_z\n"
        "  z = softmax(t)  :5\n"
        "    y as t -> z: apart: 't' is a view, read in place from memory (would save 512 bytes)\n"
        "\n"
        "stub_other\n"
        "  other = neg(A)  :6\n"
        "\n");
}

TEST_CASE("explain: in short, what each stub fuses, and why it ends") {
  const Example example;
  CHECK(overview(example.plan) ==
        "example: 5 operators in 3 stubs\n"
        "\n"
        "in each call\n"
        "  stub_y with kgen::matmul<kgen::row_major, kgen::few_rows>: matmul, add, relu; saves 1024 bytes\n"
        "    apart from stub_z: 't' is a view, read in place from memory (would save 512 bytes)\n"
        "  stub_z: softmax\n"
        "  stub_other: neg\n"
        "\n");
}

TEST_CASE("explain: in short, a reason that a stub's end gives is not said again") {
  Example example;
  example.decide("C", "z", "C", false, "its rows are long");
  example.decide("sum", "z", "sum", false, "its rows are long");
  example.decide("sum", "z", "sum", false, "'u' is a view, read in place from memory");
  example.plan.main.fused = example.b.fused();
  const std::string text = overview(example.plan);
  CHECK(text.substr(text.find("    apart")) ==
        "    apart from stub_z: 't' is a view, read in place from memory (would save 512 bytes); and 3 more\n"
        "  stub_z: softmax\n"
        "  stub_other: neg\n"
        "\n"
        "also refused\n"
        "  C -> z and 1 more: its rows are long\n"
        "\n");
}

TEST_CASE("explain: what is written to memory, and for which function") {
  test::Fixture f;
  Plan plan;
  plan.main.fused = f.fuse_main(R"(
graph: g
inputs: {x: "f32[2, 3]", wide: "f32[3]"}
functions:
  layer:
    inputs: {h: "f32[2, 3]", m: "f32[2, 3]"}
    nodes: [{op: add, in: [h, m], out: sum}]
    outputs: [sum]
nodes:
  - {op: broadcast_to, in: wide, out: whole, shape: [2, 3]}
  - {call: layer, in: [x, whole], out: once}
  - {call: layer, in: [once, x], out: y}
outputs: [y]
)");
  plan.functions.resize(1);
  plan.functions[0].fused.graph.name = "layer";
  CHECK(summary(plan) == "g: 0 stubs, 24 bytes written for 'layer' to pass 'whole'");
  Diagnostics diagnostics;
  const std::string text = explain(plan, "whole_copy", diagnostics);
  CHECK_MESSAGE(text.find("written to memory: a function reads dense memory, and 'whole' is a view (24 bytes)") !=
                    std::string::npos,
                text);
}

TEST_CASE("explain: two values with a decision between them") {
  Example example;
  CHECK(example.between("C", "sum") ==
        "'C' and 'sum' are computed together, by stub_y.\n"
        "  C -> sum: the epilogue of kgen::matmul takes it (saves 512 bytes)\n");
  CHECK(example.between("z", "y") ==
        "'z' and 'y' are computed apart, by stub_z and stub_y.\n"
        "  y as t -> z: apart: 't' is a view, read in place from memory (would save 512 bytes)\n");
}

TEST_CASE("explain: two values that two calls of one stub compute") {
  Example example;
  example.plan.stubs[1].name = "stub_y";
  CHECK(example.between("z", "y").starts_with("'z' and 'y' are computed apart, by two calls of stub_y.\n"));
}

TEST_CASE("explain: a view's name is left out where nobody wrote it") {
  Example example;
  example.plan.main.fused.graph.value(example.b.id("t")).where = {};
  CHECK(example.between("z", "y") ==
        "'z' and 'y' are computed apart, by stub_z and stub_y.\n"
        "  y -> z: apart: 't' is a view, read in place from memory (would save 512 bytes)\n");
}

TEST_CASE("explain: two values with others between them") {
  Example example;
  CHECK(example.between("C", "z") ==
        "'C' and 'z' are computed apart, by stub_y and stub_z.\n"
        "Between them, step by step:\n"
        "  C -> sum: the epilogue of kgen::matmul takes it (saves 512 bytes)\n"
        "  sum -> y: the epilogue of kgen::matmul takes it (saves 512 bytes)\n"
        "  y as t -> z: apart: 't' is a view, read in place from memory (would save 512 bytes)\n");
}

TEST_CASE("explain: values without a path, that are not computed, or that are views") {
  Example example;
  CHECK(example.between("other", "C") ==
        "'other' and 'C' are computed apart, by stub_other and stub_y.\n"
        "No path leads from one to the other: neither needs the other.\n");
  CHECK(example.between("A", "C") == "No operator computes 'A': it is read from memory as it is.\n");
  CHECK(example.between("t", "z") == "'t' is a view of 'y', read in place; ask about that instead.\n");
}

TEST_CASE("explain: which kernel was chosen, and why no other") {
  const KernelSignature mine{.name = "mine::matmul"}, built_in{.name = "kgen::matmul"};
  const OpSpec matmul{.name = "matmul"};
  Example example;
  example.plan.main.fused.graph.kernel_choices = {
      {"C", &matmul, &mine, "its condition 'M <= 16' holds: M is 8", {{&built_in, "mine::matmul comes first"}}},
      {"y", &matmul, nullptr, "no kernel takes it", {{&mine, "operand 'a' is f64, and it takes f32"}}}};
  Diagnostics diagnostics;
  CHECK(explain(example.plan, "C", diagnostics) ==
        "'C' is computed by stub_y.\n"
        "  C = matmul(A, B)  :1\n"
        "  matmul by mine::matmul: its condition 'M <= 16' holds: M is 8\n"
        "  not kgen::matmul: mine::matmul comes first\n"
        "  C -> sum: the epilogue of kgen::matmul takes it (saves 512 bytes)\n");
  CHECK(explain(example.plan, "y", diagnostics) ==
        "'y' is computed by stub_y.\n"
        "  y = relu(sum)  :3\n"
        "  matmul expanded: no kernel takes it\n"
        "  not mine::matmul: operand 'a' is f64, and it takes f32\n"
        "  sum -> y: the epilogue of kgen::matmul takes it (saves 512 bytes)\n"
        "  y as t -> z: apart: 't' is a view, read in place from memory (would save 512 bytes)\n");
  CHECK(explain(example.plan)
            .find("  C = matmul(A, B)  :1\n"
                  "      matmul by mine::matmul: its condition 'M <= 16' holds: M is 8\n"
                  "      not kgen::matmul: mine::matmul comes first\n") != std::string::npos);
  CHECK(explain(example.plan, "A", diagnostics) == "No operator computes 'A': it is read from memory as it is.\n");
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(explain(example.plan, "D", diagnostics).empty());
  CHECK(diagnostics.all()[0].message == "the graph has no value 'D'");
}

TEST_CASE("explain: what was recognised") {
  Example example;
  const OpSpec gelu = [] {
    OpSpec spec;
    spec.name = "gelu";
    return spec;
  }();
  example.plan.main.fused.graph.recognitions = {{"y", &gelu, 5}};
  CHECK(explain(example.plan).find("  y = relu(sum)  :3\n      gelu, recognised in 5 operators\n") !=
        std::string::npos);
}

TEST_CASE("explain: a value that is not there") {
  Example example;
  Diagnostics diagnostics;
  CHECK(explain(example.plan, "summ", "y", diagnostics).empty());
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].message == "the graph has no value 'summ'");
  CHECK(diagnostics.all()[0].notes[0].second == "the nearest name is 'sum'");
}

}  // namespace
}  // namespace kgen
