// What check mode adds to a plan: where fused stubs hold their values, and the functions that look for an operator.
#include "generator/emit/check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "generator/emit/check_stub.hpp"
#include "generator/pass/lower/lower_plan.hpp"
#include "generator/pass/lower/plan_check.hpp"
#include "generator/pass/place/place.hpp"
#include "tests/unit/has.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

Plan check_plan(Fixture& f, const std::string& text) {
  Plan plan;
  plan.file = "graph.yaml";
  StubTable table;
  plan.main = lower_plan(place(schedule(f.fuse_main(text)), {}), "", f.ops, table);
  plan.stubs = table.take();
  plan.check = plan_check(plan, f.ops);
  return plan;
}

// "product in stub_y_epilogue.product", one a value that is watched.
std::vector<std::string> watched(const Plan& plan, std::size_t stub = 0) {
  std::vector<std::string> texts;
  const CheckedStub checked = checked_stub(plan, plan.check->uses[stub]);
  for (const WatchedValue& value : watched_values(checked)) {
    texts.push_back(checked.graph.value(value.held->value).name + " in " + value.key);
  }
  return texts;
}

using Texts = std::vector<std::string>;

std::string source_of(const Plan& plan) {
  return emit_check_source(plan, {"graph.yaml", "kgen plan graph.yaml --check"}).content;
}

}  // namespace

TEST_CASE("check: prologues, the kernel's own result and epilogues are looked into") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
dims: {B: 1..4, S: 1..8}
inputs: {x: "f32[B, S, 16]", w: "f32[16, 8]", r: "f32[B, S, 8]"}
nodes:
  - {op: mul, in: [x, 0.5], out: scaled}
  - {op: relu, in: scaled, out: positive}
  - {op: matmul, in: [positive, w], out: product}
  - {op: add, in: [product, r], out: sum}
  - {op: tanh, in: sum, out: y}
outputs: [y]
expect_fused: [[scaled, positive, product, sum, y]]
)");
  REQUIRE(plan.stubs.size() == 1);
  CHECK(watched(plan) == Texts{"scaled in stub_y_prologue_a.scaled", "positive in stub_y_prologue_a.return",
                               "product in stub_y_epilogue.product", "sum in stub_y_epilogue.sum"});
  const std::string text = source_of(plan);
  CHECK(has(text, "observer.watch(\"stub_y_epilogue.sum\", sum.merge<0, 1>());"));
  CHECK(has(text, "observed::stub_y(y, x, w, r, call.stream());"));
  CHECK(has(text, "observer.compare(\"matmul\", \"graph.yaml:8\", product, product_reference);"));
  CHECK(has(text, "call.compare(\"stub_y\", \"tanh\", \"graph.yaml:10\", y, y_reference);"));
  CHECK(has(text, "reference_sum(sum_reference, product, r, call.stream());"));
  CHECK(observed_stubs(plan, cpu_target) == Texts{"stub_y"});
}

TEST_CASE("check: row programs hold rows and one element per row, whether or not its axes were dropped") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 32]", a: "f32[M]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: sum, in: e, out: total, axes: [-1]}
  - {op: mul, in: [total, a], out: scaled}
  - {op: unsqueeze, in: scaled, out: column, axis: -1}
  - {op: div, in: [e, column], out: y}
outputs: [y]
expect_fused: [[e, total, scaled, y]]
)");
  REQUIRE(plan.stubs.size() == 1);
  CHECK(watched(plan) == Texts{"e in stub_y_rows.e", "total in stub_y_rows.total", "scaled in stub_y_rows.scaled"});
  CHECK(has(source_of(plan), "observer.watch(\"stub_y_rows.total\", total.unsqueeze<1>());"));
}

TEST_CASE("check: what is stored is not watched, and a stub of one operator is not looked into") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
inputs: {x: "f32[32]", w: "f32[32, 32]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: mul, in: [e, 2.0], out: y}
outputs: [e, y]
)");
  REQUIRE(plan.stubs.size() == 1);
  CHECK(watched(plan) == Texts{});
  CHECK(observed_stubs(plan, cpu_target) == Texts{});
  CHECK_FALSE(has(source_of(plan), "observe"));
}

TEST_CASE("check: of a sum what the stub rounds of its terms is said, of its group those of the sums in it too") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
inputs: {x: "bf16[8, 4]", z: "bf16[8, 4]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: add, in: [e, z], out: a}
  - {op: sub, in: [a, 0.25], out: b}
  - {op: sub, in: [a, b], out: y}
outputs: [y]
expect_fused: [[e, a, b, y]]
)");
  const std::string text = source_of(plan);
  CHECK(has(text, "if (call.differs(y_found, y_reference, {kgen::ElementType::bf16, call.terms(a, b, e)})) {"));
  CHECK(has(text, R"(observer.compare("exp", "graph.yaml:5", e, e_reference);)"));
  CHECK(has(text, R"("add", "graph.yaml:6", a, a_reference, {kgen::ElementType::bf16, call.terms(e)});)"));
  CHECK(has(text, R"("sub", "graph.yaml:7", b, b_reference, {kgen::ElementType::bf16, call.terms(a)});)"));
}

TEST_CASE("check: a term of a sum may be a view of what the stub makes") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
inputs: {x: "bf16[8, 4]", w: "bf16[4, 6]", z: "bf16[8, 2, 3]"}
nodes:
  - {op: matmul, in: [x, w], out: c}
  - {op: reshape, in: c, out: t, shape: [8, 2, 3]}
  - {op: add, in: [t, z], out: s}
  - {op: sub, in: [s, 0.25], out: y}
outputs: [y]
expect_fused: [[c, s, y]]
)");
  const std::string text = source_of(plan);
  CHECK(has(text, R"("add", "graph.yaml:7", s, s_reference, {kgen::ElementType::bf16, call.terms(t)});)"));
  CHECK(has(text, "if (call.differs(y_found, y_reference, {kgen::ElementType::bf16, call.terms(s, t)})) {"));
}

TEST_CASE("check: what follows from a step function of unrounded numbers is not compared") {
  Fixture f;
  const char* text = R"(
graph: g
inputs: {x: "f8e5m2[8, 4]", w: "f8e5m2[4, 8]"}
nodes:
  - {op: matmul, in: [x, w], out: product}
  - {op: not_equal, in: [product, 3.0], out: far}
  - {op: where, in: [far, product, 1.0], out: y}
  - {op: relu, in: product, out: positive}
outputs: [y, positive]
expect_fused: [[product, far, y]]
)";
  const std::string fast = source_of(check_plan(f, text));
  CHECK(has(fast, "// y follows from a step function of numbers that only the reference rounds"));
  CHECK_FALSE(has(fast, "\"where\", \"graph.yaml:7\""));
  CHECK(has(fast, "\"relu\", \"graph.yaml:8\""));
  Fixture exact;
  const std::string rounded = source_of(check_plan(exact, std::string("numerics: match_unfused") + text));
  CHECK(has(rounded, "\"where\", \"graph.yaml:7\""));
  Fixture single;
  const std::string whole = source_of(check_plan(single, std::regex_replace(text, std::regex("f8e5m2"), "f32")));
  CHECK(has(whole, "\"where\", \"graph.yaml:7\""));
}

TEST_CASE("check: a result that nothing reads has no reference") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
inputs: {x: "f16[4, 2]"}
nodes:
  - {op: relu, in: x, out: positive}
  - {op: softmax_statistics, in: positive, out: [greatest, total]}
outputs: [total]
)");
  const std::string text = source_of(plan);
  CHECK(has(text, "reference_total(total_reference, positive, call.stream());"));
  CHECK_FALSE(has(text, "greatest"));
}

TEST_CASE("check: a cast without a statement of its own leaves its line to what it converts") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
inputs: {x: "f32[32]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: sqrt, in: e, out: s}
  - {op: cast, in: s, out: y, to: bf16}
outputs: [y]
)");
  REQUIRE(plan.stubs.size() == 1);
  CHECK(watched(plan) == Texts{"e in stub_y_elementwise.e"});
  CHECK(has(source_of(plan), "call.compare(\"stub_y\", \"sqrt\", \"graph.yaml:6\", y, y_reference);"));
}

TEST_CASE("check: what is rounded between a stub's lanes and a reference sets the precision") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
inputs: {x: "bf16[32]", z: "f32[32]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: cast, in: e, out: wide, to: f32}
  - {op: mul, in: [wide, z], out: m}
  - {op: add, in: [m, z], out: y}
outputs: [y]
)");
  const std::string text = source_of(plan);
  CHECK(has(text, "observer.compare(\"exp\", \"graph.yaml:5\", e, e_reference);"));
  CHECK(has(text, "observer.compare(\"mul\", \"graph.yaml:7\", m, m_reference, kgen::ElementType::bf16);"));
  CHECK(has(text, R"("add", "graph.yaml:8", y, y_reference, {kgen::ElementType::bf16, call.terms(m)});)"));
}

TEST_CASE("check: each use of a shared stub has its own references, line and extents") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", c: "f32[M, 32]", w: "f32[32, 8]", v: "f32[32, 16]", r: "f32[M, 8]", s: "f32[M, 16]"}
nodes:
  - {op: matmul, in: [a, w], out: aw}
  - {op: add, in: [aw, r], out: y}
  - {op: matmul, in: [c, v], out: av}
  - {op: add, in: [av, s], out: z}
outputs: [y, z]
)");
  REQUIRE(plan.stubs.size() == 1);
  REQUIRE(plan.check->uses.size() == 2);
  const std::string text = source_of(plan);
  CHECK(has(text, R"("add", "graph.yaml:7", out, y_reference, {kgen::ElementType::f32, call.terms(aw)});)"));
  CHECK(has(text, R"("add", "graph.yaml:9", out, z_reference, {kgen::ElementType::f32, call.terms(av)});)"));
  CHECK(has(text, "return stub_y(out, a, b, add_b, call.launch(\"z\"));"));
  CHECK(has(text, "const auto av = call.scratch<float, 2>({out.extent(0), 16});"));
  CHECK(has(text, "void locate_in_stub_z(kgen::Call& call, "));
  CHECK(observed_stubs(plan, cpu_target) == Texts{"stub_y"});
}

TEST_CASE("check: what a composite slices of its operands is sliced for the references") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
dims: {S: 1..8}
inputs: {x: "f32[2, S, 8, 64]", cos: "f32[S, 1, 64]", sin: "f32[S, 1, 64]"}
nodes:
  - {op: rope, in: [x, cos, sin], out: q}
outputs: [q]
)");
  const std::string text = source_of(plan);
  CHECK(has(text, "void checked_stub_q(kgen::Call& call, "));
  CHECK(has(text, "reference_q_first_kept("));
  CHECK(has(text, ", x, cos, call.stream());"));
}

TEST_CASE("check: what rides with a kernel by other axes is watched along the kernel's") {
  Fixture f;
  const Plan plan = check_plan(f, R"(
graph: g
dims: {B: 1..4, S: 1..64}
inputs: {q: "bf16[B, S, 6, 8]", scale: "bf16[48]", x: "f32[B, S, 6]", w: "f32[6, 48]", of_channel: "f32[8]"}
nodes:
  - {op: attention, in: [q, q, q], out: attended}
  - {op: reshape, in: attended, out: lines, shape: [B, S, 48]}
  - {op: mul, in: [lines, scale], out: scaled}
  - {op: cast, in: scaled, out: wide, to: f32}
  - {op: mul, in: [wide, 2], out: z}
  - {op: matmul, in: [x, w], out: m}
  - {op: reshape, in: m, out: heads, shape: [B, S, 6, 8]}
  - {op: mul, in: [heads, of_channel], out: h}
  - {op: add, in: [h, of_channel], out: y}
outputs: [y, z]
)");
  const std::string source = source_of(plan);
  CHECK(has(source, "observer.watch(\"stub_z_epilogue.attended\", attended);"));
  CHECK(has(source,
            "observer.watch(\"stub_z_epilogue.scaled\", "
            "scaled.reshape<4>(kgen::Index<4>{z.extent(0), z.extent(1), 6, 8}));"));
  CHECK(has(source, "const auto lines = attended.reshape<3>({z.extent(0), z.extent(1), 48});"));
  CHECK(has(source, "observer.watch(\"stub_y_epilogue.h\", h.merge<2, 3>().merge<0, 1>());"));
}
