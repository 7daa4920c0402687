// Values that several stubs compute, each for itself: which, what that saves, and that all else goes by it.
#include <doctest/doctest.h>

#include "generator/emit/check_stub.hpp"
#include "generator/emit/lines_yaml.hpp"
#include "generator/emit/plan_yaml.hpp"
#include "generator/explain/explain.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/pass/lower/lower_plan.hpp"
#include "generator/pass/lower/plan_check.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/verify/verify_groups.hpp"
#include "tests/unit/has.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// A graph of `x`, weights `v` and `w`, and rows of parameters, with these nodes.
struct PlannedRecompute {
  Fixture f;
  FusedGraph fused;

  PlannedRecompute(const std::string& nodes, const std::string& outputs, const std::string& more = "",
                   const std::string& x = "f32[M, 64]") {
    fused =
        f.fuse_main("graph: g\ndims: {M: 16..8192, N: 0..8192}\ninputs: {x: \"" + x +
                    "\", rows: \"f32[N]\", v: \"f32[64, 32]\", u: \"f32[64, 64]\", w: \"f32[64, 48]\", scale: "
                    "\"f32[64]\", each: \"f32[M, 1]\"}\nnodes:\n" +
                    "  - {op: relu, in: rows, out: has_n}\n" + nodes + "outputs: [" + outputs + ", has_n]\n" + more);
  }
  const Recomputation* of(const std::string& name) const {
    for (const Recomputation& each : fused.recomputations) {
      if (fused.graph.value(each.value).name == name) return &each;
    }
    return nullptr;
  }
  // How many stubs compute it.
  std::size_t makers(const std::string& name) const {
    const Recomputation* it = of(name);
    return it ? it->copies.size() + 1 : 1;
  }
  std::string bytes(const std::string& name) const { return of(name) ? of(name)->bytes.text() : "not in question"; }
  std::string why(const std::string& name) const { return of(name) ? of(name)->reason : "not in question"; }
  bool is_stored(const std::string& name) const {
    const ValueId value = value_named(fused.graph, name);
    const std::vector<ValueId>& outputs = fused.groups[group_making(fused, name)].outputs;
    return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  }
  std::vector<std::string> read_by(const std::string& name) const {
    std::vector<std::string> names;
    for (const ValueId input : fused.groups[group_making(fused, name)].inputs)
      names.push_back(fused.graph.value(input).name);
    return names;
  }
  std::string stub(const std::string& name) {
    StubTable stubs;
    const std::vector<std::uint32_t> stub_of = lower(fused, f.ops, "stub_", stubs);
    const std::uint32_t wanted = stub_of[group_making(fused, name)];
    return stub_text(stubs.take().at(wanted));
  }

 private:
  static std::string stub_text(const StubProgram& program) {
    std::string text = program.saved + "\n";
    for (const Functor& functor : program.functors) {
      for (const Statement& statement : functor.statements) {
        for (const std::string& name : statement.names) text += name + " ";
      }
    }
    return text;
  }
};

using Names = std::vector<std::string>;

const char* const two_rows =
    "  - {op: mul, in: [x, 2], out: s}\n"
    "  - {op: sum, in: s, out: a, axes: [0]}\n"
    "  - {op: sum, in: s, out: b, axes: [1]}\n";
// One call would compute both.
const char* const two_kernels = "  - {op: matmul, in: [s, v], out: a}\n  - {op: matmul, in: [s, w], out: b}\n";
const std::string two_calls = "fusion: {forbid: [[a, b]]}\n";

}  // namespace

TEST_CASE("recompute: loops over different rows each compute what both read") {
  const PlannedRecompute plan(two_rows, "a, b");
  CHECK_FALSE(plan.f.diagnostics.has_errors());
  CHECK(plan.makers("s") == 2);
  CHECK_FALSE(plan.is_stored("s"));
  CHECK(plan.read_by("a") == Names{"x"});
  CHECK(plan.read_by("b") == Names{"x"});
  // Written once and read once (another reader had it in registers), 256*M bytes each; x is read once more.
  CHECK(plan.bytes("s") == "256*M");
  CHECK(plan.why("s") == "they read 256*M bytes of 'x' for it, instead of 512*M to write it and read it there");
}

TEST_CASE("recompute: two kernels take what makes their operand as a prologue each") {
  const PlannedRecompute plan("  - {op: relu, in: x, out: s}\n" + std::string(two_kernels), "a, b", two_calls);
  CHECK_FALSE(plan.f.diagnostics.has_errors());
  CHECK(together(plan.fused, "s", "a"));
  CHECK(together(plan.fused, "s_2", "b"));
  CHECK(plan.fused.groups.size() == 3);  // and that of has_n
  // x is read, s written, s read twice; then x is read twice.
  CHECK(plan.bytes("s") == "512*M");
  CHECK(plan.why("s") ==
        "they read 512*M bytes of 'x' for it, instead of 1024*M to make it once, write it and read it there");
  CHECK(reason(plan.fused, "s", "a") == "a prologue of kgen::matmul takes it");
  CHECK(reason(plan.fused, "s_2", "b") == "a prologue of kgen::matmul takes it");
}

TEST_CASE("recompute: a chain is taken as a whole, with operands that are broadcast") {
  const PlannedRecompute plan("  - {op: cast, in: x, out: wide, to: f32}\n  - {op: mul, in: [wide, scale], out: s}\n" +
                                  std::string(two_kernels),
                              "a, b", two_calls, "f8e4m3[M, 64]");
  CHECK_FALSE(plan.f.diagnostics.has_errors());
  CHECK(plan.makers("s") == 2);
  CHECK(plan.read_by("a") == Names{"x", "scale", "v"});
  CHECK(plan.read_by("b") == Names{"x", "scale", "w"});
  // Before: x (64*M), scale (256), s three times (768*M). After: x and scale twice.
  CHECK(plan.bytes("s") == "704*M - 256");
}

TEST_CASE("recompute: what a reader reads anyway costs nothing") {
  const PlannedRecompute plan(
      "  - {op: sum, in: x, out: b, axes: [0]}\n  - {op: mul, in: [x, 2], out: s}\n"
      "  - {op: sum, in: s, out: a, axes: [1]}\n  - {op: cumsum, in: s, out: c, axis: 1}\n",
      "a, b, c");
  CHECK(plan.makers("s") == 2);
  CHECK(plan.bytes("s") == "256*M");
  const PlannedRecompute free(
      "  - {op: mul, in: [x, 2], out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: matmul, in: [x, u], out: "
      "m}\n"
      "  - {op: mul, in: [m, s], out: p}\n  - {op: mul, in: [p, x], out: c}\n",
      "a, c", "", "f32[M, 64]");
  CHECK(free.makers("s") == 2);
  CHECK(free.bytes("s") == "512*M");
  CHECK(free.why("s") ==
        "they read no more for it than they do anyway, instead of 512*M to write it and read it there");
}

// s is needed by a, t by b alone: t goes there, and takes a copy of s.
TEST_CASE("recompute: what one reader alone needs goes there, and only the rest is copied") {
  const PlannedRecompute plan(
      "  - {op: mul, in: [x, 2], out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: add, in: [s, each], out: "
      "t}\n"
      "  - {op: sum, in: t, out: b, axes: [1]}\n",
      "a, b");
  CHECK_FALSE(plan.f.diagnostics.has_errors());
  CHECK(together(plan.fused, "t", "b"));
  CHECK(together(plan.fused, "s_2", "b"));
  CHECK(together(plan.fused, "s", "a"));
  CHECK(plan.read_by("b") == Names{"x", "each"});
  CHECK(plan.bytes("t") == "252*M");  // each is 4*M
}

TEST_CASE("recompute: a kernel's prologue and its epilogue each take it") {
  const PlannedRecompute plan(
      "  - {op: relu, in: x, out: s}\n  - {op: matmul, in: [s, u], out: m}\n  - {op: add, in: [m, s], out: a}\n", "a");
  CHECK_FALSE(plan.f.diagnostics.has_errors());
  CHECK(together(plan.fused, "s", "a"));
  CHECK(together(plan.fused, "s_2", "a"));
  CHECK(plan.read_by("a") == Names{"x", "u"});
  const Group& group = plan.fused.groups[group_making(plan.fused, "a")];
  REQUIRE(group.prologues.size() == 1);
  REQUIRE(group.epilogues.size() == 1);
  CHECK(group.prologues[0].nodes.size() == 1);
  CHECK(group.epilogues[0].nodes.size() == 2);
}

TEST_CASE("recompute: a value stays in memory where not every reader could compute it, or somebody wants it") {
  CHECK(PlannedRecompute(two_rows, "a, b, s").of("s") == nullptr);
  // Attention takes no prologue on k.
  const PlannedRecompute attended(
      "  - {op: relu, in: x, out: s}\n  - {op: reshape, in: s, out: k, shape: [1, M, 1, 64]}\n"
      "  - {op: reshape, in: x, out: q, shape: [1, M, 1, 64]}\n  - {op: attention, in: [q, k, q], out: a}\n"
      "  - {op: sum, in: s, out: b, axes: [0]}\n  - {op: sum, in: s, out: c, axes: [1]}\n",
      "a, b, c");
  CHECK(attended.is_stored("s"));
  CHECK(attended.of("s") == nullptr);
}

TEST_CASE("recompute: work that a kernel would repeat is priced") {
  // On the CPU these compute it once for each element; fuse_targets_test.cpp has others.
  const PlannedRecompute calls("  - {op: exp, in: x, out: s}\n" + std::string(two_kernels), "a, b", two_calls);
  CHECK(calls.makers("s") == 2);
  CHECK_FALSE(calls.is_stored("s"));
  const PlannedRecompute rows(
      "  - {op: exp, in: x, out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: "
      "[1]}\n",
      "a, b");
  CHECK(rows.makers("s") == 1);
  const PlannedRecompute narrow(
      "  - {op: exp, in: x, out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: "
      "[1]}\n",
      "a, b", "numerics: match_unfused\n", "bf16[M, 64]");
  CHECK(narrow.makers("s") == 1);
}

TEST_CASE("recompute: what would be read instead is wider") {
  const PlannedRecompute plan(
      "  - {op: cast, in: x, out: s, to: bf16}\n  - {op: cast, in: v, out: p, to: bf16}\n"
      "  - {op: cast, in: w, out: q, to: bf16}\n"
      "  - {op: matmul, in: [s, p], out: a}\n  - {op: matmul, in: [s, q], out: b}\n",
      "a, b");
  CHECK(plan.makers("s") == 1);
  const PlannedRecompute sums(
      "  - {op: add, in: [x, each], out: t}\n  - {op: add, in: [t, scale], out: s}\n"
      "  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: [1]}\n",
      "a, b");
  CHECK(sums.makers("s") == 2);
  CHECK(sums.bytes("s") == "252*M - 256");
}

TEST_CASE("recompute: only what is cheaper for all sizes") {
  // One row of x: the parameters would be read once more for it, and that is as much as all of s.
  Fixture f;
  const FusedGraph fused = f.fuse_main(
      "graph: g\ndims: {M: 1..8, N: 1..8192}\ninputs: {x: \"bf16[M, N]\", p: \"f32[N]\", q: \"f32[N]\", r: "
      "\"f32[N]\"}\nnodes:\n"
      "  - {op: cast, in: x, out: wide, to: f32}\n"
      "  - {op: mul, in: [wide, p], out: s1}\n  - {op: add, in: [s1, q], out: s2}\n  - {op: sub, in: [s2, r], out: s}\n"
      "  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: [1]}\noutputs: [a, b]\n");
  REQUIRE(fused.recomputations.size() == 1);
  CHECK(fused.recomputations[0].copies.empty());
  CHECK(fused.recomputations[0].reason ==
        "they read 2*M*N + 12*N bytes of 'x', 'p', 'q' and 'r' for it, instead of 8*M*N to write it and read it there, "
        "which is not less for all sizes");
}

TEST_CASE("recompute: `fusion` and `expect_fused` go by the value, wherever it is computed") {
  const PlannedRecompute expected(two_rows, "a, b", "expect_fused: [[s, a], [s, b]]\n");
  CHECK_FALSE(expected.f.diagnostics.has_errors());
  const PlannedRecompute forbidden(two_rows, "a, b", "fusion: {forbid: [[s, a]]}\n");
  CHECK(forbidden.is_stored("s"));
  CHECK_FALSE(together(forbidden.fused, "s", "a"));
  const PlannedRecompute forced(two_rows, "a, b", "fusion: {force: [[s, b]]}\n");
  CHECK(together(forced.fused, "s", "b"));
  CHECK(together(forced.fused, "s_2", "a"));
  PlannedRecompute wanting(two_rows, "a, b", "expect_fused: [[a, s, b]]\n");
  CHECK(wanting.f.diagnostics.has_errors());
}

TEST_CASE("recompute: a stub calls the value what the graph does") {
  PlannedRecompute plan(
      "  - {op: relu, in: x, out: s}\n  - {op: matmul, in: [s, v], out: a}\n  - {op: matmul, in: [s, w], out: b0}\n"
      "  - {op: relu, in: b0, out: b}\n",
      "a, b", "fusion: {forbid: [[a, b0]]}\n");
  CHECK(plan.stub("a") == "s never reaches memory: 512*M bytes of traffic saved.\nx s ");
  CHECK(plan.stub("b") ==
        "b0 never reaches memory: 384*M bytes of traffic saved. s is computed here too, rather than read from memory.\n"
        "x s b ");
}

TEST_CASE("recompute: a taken name is left to who has it") {
  const PlannedRecompute plan(
      "  - {op: relu, in: x, out: s}\n  - {op: neg, in: x, out: s_2}\n" + std::string(two_kernels), "a, b, s_2",
      two_calls);
  CHECK(together(plan.fused, "s_3", "b"));
}

TEST_CASE("recompute: loops and kernels that read one value") {
  const PlannedRecompute plan(
      "  - {op: mul, in: [x, 2], out: s}\n  - {op: sum, in: s, out: a, axes: [0]}\n  - {op: sum, in: s, out: b, axes: "
      "[1]}\n"
      "  - {op: matmul, in: [s, v], out: c}\n",
      "a, b, c");
  CHECK(plan.makers("s") == 3);
  CHECK_FALSE(plan.is_stored("s"));
  CHECK(plan.bytes("s") == "256*M");
}

TEST_CASE("recompute: 2,000 readers") {
  std::string nodes = "  - {op: mul, in: [x, 2], out: s}\n", outputs;
  for (int i = 0; i < 2000; ++i) {
    nodes += "  - {op: matmul, in: [s, v], out: a" + std::to_string(i) + "_0}\n";
    nodes += "  - {op: add, in: [a" + std::to_string(i) + "_0, " + std::to_string(i) + "], out: a" + std::to_string(i) +
             "}\n";
    outputs += (i == 0 ? "a" : ", a") + std::to_string(i);
  }
  const PlannedRecompute plan(nodes, outputs);
  CHECK_FALSE(plan.f.diagnostics.has_errors());
  CHECK(plan.fused.graph.nodes.size() < 10000);
}

namespace {

// s is computed by stub_a and stub_b.
Plan whole_plan(Fixture& f, const std::string& more = "") {
  Plan plan;
  plan.file = "graph.yaml";
  StubTable table;
  FusedGraph fused = f.fuse_main(
      "graph: g\ndims: {M: 1..64}\ninputs: {x: \"bf16[M, 64]\", v: \"bf16[64, 32]\", w: \"bf16[64, 48]\"}\nnodes:\n"
      "  - {op: add, in: [x, 1], out: t}\n  - {op: relu, in: t, out: s}\n"
      "  - {op: matmul, in: [s, v], out: a}\n  - {op: matmul, in: [s, w], out: p}\n  - {op: neg, in: p, out: "
      "b}\noutputs: [a, b]\nfusion: {forbid: [[a, p]]}\n" +
      more);
  plan.main = lower_plan(place(schedule(std::move(fused)), {}), "", f.ops, table);
  plan.stubs = table.take();
  plan.check = plan_check(plan, f.ops);
  return plan;
}

}  // namespace

TEST_CASE("recompute: the summary names a few values, and counts the others") {
  Fixture f;
  std::string text = "graph: g\ndims: {M: 1..64}\ninputs: {x: \"f32[M, 64]\", w: \"f32[64, 64]\"}\nnodes:\n", outputs;
  for (int i = 0; i < 8; ++i) {
    text += fmt::format(
        "  - {{op: mul, in: [x, {0}.5], out: s{0}}}\n  - {{op: matmul, in: [s{0}, w], out: a{0}}}\n"
        "  - {{op: sum, in: s{0}, axes: [0], out: b{0}}}\n",
        i + 1);
    outputs += fmt::format("{0}a{1}, b{1}", i == 0 ? "" : ", ", i + 1);
  }
  FunctionPlan function;
  function.fused = f.fuse_main(text + "outputs: [" + outputs + "]\n");
  REQUIRE(function.fused.recomputations.size() == 8);
  Plan plan;
  plan.main = std::move(function);
  const std::string said = summary(plan);
  CHECK(said.find("'s5' computed 2 times") != std::string::npos);
  CHECK(said.find("'s6'") == std::string::npos);
  CHECK(said.ends_with(", and 3 more values computed again (kgen explain names them)"));
}

TEST_CASE("recompute: what is said of it") {
  Fixture f;
  const Plan plan = whole_plan(f, "numerics: match_unfused\n");
  REQUIRE(plan.main.fused.recomputations.size() == 1);
  CHECK(summary(plan) == "g: 2 stubs, 's' computed 2 times (256*M bytes less moved)");
  CHECK_EQ(explain(plan, "s", f.diagnostics),
           "'s' is computed by stub_a.\n"
           "  s = relu(t)  :6\n"
           "  t -> s: a prologue of kgen::matmul takes it (saves 256*M bytes)\n"
           "  s -> a: a prologue of kgen::matmul takes it (saves 256*M bytes)\n"
           "  's' is computed where it is read, by stub_a and stub_b: they read 256*M bytes of 'x' for it, instead of "
           "512*M to make it once, write it and read it there (saves 256*M bytes)\n");
  CHECK(has(explain(plan, "s", "b", f.diagnostics), "'s' and 'b' are computed together, by stub_b.\n"));
  CHECK(has(explain(plan), "  s = relu(t)  :6, again\n"));
  CHECK(has(emit_lines_yaml(plan, {"g.yaml", "kgen"}).content, "  t: 5\n  s: 6\n  a: 7\n  p: 8\n"));
  const std::string text = emit_plan_yaml(plan, {"g.yaml", "kgen"}).content;
  CHECK(
      has(text, "  - [s, [s_2], \"256*M\", \"they read 256*M bytes of 'x' for it, instead of 512*M to make it once, "));
  CHECK(has(text, "    - {op: relu, in: [t_2], out: [s_2]}\n"));
}

TEST_CASE("recompute: check mode looks into each") {
  Fixture f;
  const Plan plan = whole_plan(f, "numerics: match_unfused\n");
  std::vector<std::string> watched;
  for (const StubUse& use : plan.check->uses) {
    const CheckedStub stub = checked_stub(plan, use);
    for (const WatchedValue& value : watched_values(stub)) {
      watched.push_back(stub.graph.value(value.held->value).name + " in " + value.key);
    }
  }
  CHECK(watched == std::vector<std::string>{"t in stub_a_prologue_a.t_value", "s in stub_a_prologue_a.return",
                                            "t_2 in stub_b_prologue_a.t_value", "s_2 in stub_b_prologue_a.return",
                                            "p in stub_b_epilogue.p_value"});
}

// Rounded after each operator, as the value in memory was.
TEST_CASE("recompute: `match_unfused` rounds in each stub") {
  Fixture f;
  const Plan plan = whole_plan(f, "numerics: match_unfused\n");
  for (const StubProgram& stub : plan.stubs) {
    std::size_t casts = 0;
    REQUIRE_FALSE(stub.functors.empty());
    for (const Statement& statement : stub.functors.front().statements)
      casts += statement.functor == "kgen::Cast" && statement.dtypes == std::vector{DType::bf16};
    CHECK(casts == 2);
  }
}

TEST_CASE("recompute: the verifier knows a copy that goes to memory") {
  Fixture f;
  Plan plan = whole_plan(f);
  FusedGraph& fused = plan.main.fused;
  CHECK(group_problems(fused).empty());
  fused.groups[group_making(fused, "s_2")].outputs.push_back(value_named(fused.graph, "s_2"));
  CHECK(group_problems(fused) == std::vector<std::string>{"'s_2' is computed again, and stored"});
}
