// What sizes and conditions mean at a node.
#include "generator/spec/node_expression.hpp"

#include <array>
#include <string>

#include "generator/spec/target_conditions.hpp"
#include "tests/unit/infer_fixture.hpp"

namespace kgen {
namespace {

// Of a frame around x: f32[S, 64], for S in 1..512.
struct AtNode {
  test::Inferred graph = test::infer_good(R"(
graph: g
dims: {S: 1..512}
inputs: {x: "f32[S, 64]", w: "f32[96, 64]"}
nodes:
- {op: pad, in: x, pads: [1, 2, 3, S], out: framed}
- {op: linear, in: [x, w], out: y}
outputs: [framed, y]
)");
  DimRanges ranges = ranges_of(graph.module.main);

  NodeScope scope(std::string_view result) const {
    const Node& node = graph.node(result);
    const auto is_weight = [this](ValueId id) { return graph.module.main.value(id).name == "w"; };
    return {graph.module.main, node, ranges, node.attributes, {}, is_weight};
  }
};

Expression parsed(std::string_view text) {
  std::string error;
  auto expression = parse_expression(text, &error, node_functions());
  REQUIRE_MESSAGE(expression, error);
  return *expression;
}

}  // namespace

TEST_CASE("sizes at a node: whole arithmetic over its names, attributes and operands") {
  const AtNode at;
  const auto size = [&](std::string_view text, std::string_view node = "y") -> std::string {
    const auto value = size_at(at.scope(node), parsed(text));
    return value ? value->text() : "not known";
  };
  CHECK(size("K / 3 + 2 * N") == "213");
  CHECK(size("2 * M - 1") == "2*S - 1");
  CHECK(size("-M + M") == "0");
  CHECK(size("extent(x, 0) + extent(x, -1) + extent(x, 2)", "framed") == "S + 64");
  CHECK(size("pads[rank(x)] + pads[0]", "framed") == "4");
  CHECK(size("pads[3]", "framed") == "S");
  CHECK(size("pads[4]", "framed") == "not known");
  CHECK(size("extent(x, pads[0])", "framed") == "64");
  CHECK(size("extent(bias, 0) + rank(bias)") == "0");
  CHECK(size("K / 0") == "not known");
  CHECK(size("K / (K - 64)") == "not known");
  CHECK(size("K == 64 ? 2 * M : 1") == "2*S");
  CHECK(size("M == 7 ? 2 : 1") == "not known");
  CHECK(size("min(M, M + K) + max(K, 3)") == "S + 64");
  CHECK(size("min(M, K)") == "min(S, 64)");
}

TEST_CASE("conditions at a node: proved for every value of the dims, or not") {
  const AtNode at;
  const auto proof = [&](std::string_view text) { return prove(at.scope("y"), parsed(text)); };
  CHECK(proof("M >= 1 && M <= 512") == Proof::always);
  CHECK(proof("M >= 2") == Proof::sometimes);
  CHECK(proof("M > 512") == Proof::never);
  CHECK(proof("!given(bias) && T == f32") == Proof::always);
  CHECK(proof("T != f32 || rank(x) == 3") == Proof::never);
  CHECK(proof("constant(weight) && !constant(x) && !constant(bias)") == Proof::always);
  CHECK(proof("M / 0 == 0 || K == 64") == Proof::always);
  CHECK(proof("M / 0 == 0") == Proof::sometimes);
  CHECK(facts_of(at.scope("y"), parsed("M >= 2 && K == 64 && T == f32")) == "M is S, 1..512; K is 64; T is f32");
  CHECK(proof("target == cpu && cpu == target && target != gpu && target != hip") == Proof::always);
  CHECK(proof("target == gpu || target == cuda") == Proof::never);
  CHECK(facts_of(at.scope("y"), parsed("target == gpu && K == 64")) == "target is cpu; K is 64");
  CHECK(proof("architecture != sm_90a && gfx942 != architecture") == Proof::always);
  CHECK(facts_of(at.scope("y"), parsed("architecture == sm_90a")) == "architecture is none");
  CHECK(proof("numerics == fast && tf32 != numerics") == Proof::always);
  CHECK(proof("numerics == match_unfused") == Proof::never);
  CHECK(facts_of(at.scope("y"), parsed("numerics == tf32")) == "numerics is fast");
}

TEST_CASE("conditions that hold for no node of a target") {
  const OpSpec& op = *test::shipped_ops().find("matmul");
  CHECK(holds_never(op, parsed("target == cpu"), TargetKind::hip));
  CHECK(holds_never(op, parsed("M < 4 && target != gpu"), TargetKind::cuda));
  CHECK_FALSE(holds_never(op, parsed("M < 4 || target == cpu"), TargetKind::cuda));
  CHECK_FALSE(holds_never(op, parsed("constant(b)"), TargetKind::cpu));
  CHECK_FALSE(holds_never(op, parsed("numerics == tf32"), TargetKind::cpu));
  CHECK_FALSE(holds_never(op, parsed("T == f32 || T == bf16"), TargetKind::cpu));
  CHECK(holds_never(op, parsed("T == i16"), TargetKind::cpu));
  CHECK(holds_never(op, parsed("architecture == sm_90a && T == f32"), TargetKind::hip, Architecture::gfx942));
  CHECK_FALSE(holds_never(op, parsed("architecture == sm_90a && T == f32"), TargetKind::hip));
}

TEST_CASE("conditions that hold nowhere on a target are left out, and the others stay as they are") {
  // What is left of the matmul's rules, and of what it declares of operand b.
  const auto conditions = [](TargetKind target, Architecture architecture) {
    OpSet ops = test::shipped_ops();
    keep_conditions_of(target, architecture, ops);
    const KernelOperand& b = ops.kernels[ops.kernel_index.at("kgen::matmul")].operands[1];
    std::string texts = b.memory.text;
    for (const Evaluations& each : b.evaluations) texts += "; " + each.when.text;
    for (const TuningRule& rule : ops.tuning) texts += rule.kernel == "kgen::matmul" ? "; " + rule.when.text : "";
    return texts;
  };
  CHECK(conditions(TargetKind::cpu, Architecture::none).empty());
  const std::string amd = conditions(TargetKind::hip, Architecture::gfx942);
  CHECK(amd.find("target == gpu") != amd.npos);
  CHECK(amd.find("sm_90a") == amd.npos);
  CHECK(conditions(TargetKind::cuda, Architecture::sm_90a).find("sm_90a") != amd.npos);
}

TEST_CASE("conditions that hold for no operands of some ranks") {
  const AtNode at;
  const auto refused = [&](std::string_view text) { return ranks_refuse(at.scope("y"), parsed(text)); };
  CHECK(refused("rank(x) > 2"));
  CHECK(refused("rank(x) != 2 && M >= 2 && T == f32"));
  CHECK_FALSE(refused("rank(x) == 2"));
  CHECK_FALSE(refused("rank(x) > 2 || M > 512"));
  // What sizes, types and the target say is left to prove().
  CHECK_FALSE(refused("M > 512 || T == f64 || target == gpu || constant(x) || extent(x, 0) == 7"));
}

TEST_CASE("sizes and conditions are told apart from what is none at any node") {
  const OpSpec& op = *test::shipped_ops().find("pad");
  const std::array<std::string, 1> names = {"E"};
  CHECK_FALSE(size_problem(parsed("extent(x, axis_0) + pads[E]"), op, names) == std::nullopt);
  CHECK(size_problem(parsed("extent(x, E) + pads[E + 1]"), op, names) == std::nullopt);
  CHECK(size_problem(parsed("E"), op) == "'E' is no size, type or switch of 'pad'");
  CHECK(size_problem(parsed("sqrt(rank(x))"), op) == "sizes and conditions have no functions of numbers");
  CHECK(size_problem(parsed("rank(x) == 2"), op) == "it is no size");
  CHECK(size_problem(parsed("E ? 1 : 2"), op) == "'E' is no size, type or switch of 'pad'");
  CHECK(size_problem(parsed("rank(x) ? 1 : 2"), op) == "?: chooses by a condition between two sizes");
  CHECK(size_problem(parsed("min(rank(x), rank(x) == 1)"), op) == "min and max are of two sizes");
  CHECK(size_problem(parsed("0.5"), op) == "0.5 is not a whole number");
  CHECK(size_problem(parsed("1e300"), op) == "1e+300 is not a whole number");
  CHECK(size_problem(parsed("elements(out) / elements(x)"), op) == std::nullopt);
  CHECK(size_problem(parsed("rank(out)"), op) == "'out' is no operand of 'pad'");
  CHECK(size_problem(parsed("elements(y)"), op) == "'y' is no operand of 'pad'");
  CHECK(condition_problem(parsed("architecture == sm_90"), op) ==
        "'sm_90' is no size, type or switch of 'pad'; architectures are sm_90a, sm_80, sm_86, sm_89, sm_100, "
        "sm_120, gfx942, gfx90a, gfx1100");
  CHECK(condition_problem(parsed("architecture == cuda"), op) ==
        "the architecture is asked for by `architecture == sm_90a`, or !=");
  CHECK(condition_problem(parsed("numerics == exact"), op) ==
        "'exact' is no size, type or switch of 'pad'; numerics are fast, match_unfused, tf32");
  CHECK(condition_problem(parsed("numerics == sm_90a"), op) ==
        "the graph's numerics are asked for by `numerics == tf32`, or !=");
  CHECK(condition_problem(parsed("rank(x)"), op) == "it is no condition");
  CHECK(condition_problem(parsed("rank(x) == 2"), op) == std::nullopt);
}

}  // namespace kgen
