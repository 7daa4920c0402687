#include "generator/pass/verify/verify_views.hpp"

#include "generator/pass/graph/strided_memory.hpp"
#include "generator/pass/lower/lower_plan.hpp"
#include "generator/pass/place/place.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// The plan of a graph, by hand: fuse ... lower.
struct PlannedViews {
  FunctionPlan plan;
  std::vector<StubProgram> stubs;

  PlannedViews(Fixture& f, const std::string& text) {
    StubTable table;
    plan = lower_plan(place(schedule(f.fuse_main(text)), {}), "", f.ops, table);
    stubs = table.take();
    CHECK(problems() == "");
  }

  std::string problems() const {
    Diagnostics diagnostics;
    verify_views(plan, stubs, diagnostics);
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics.all()) text += diagnostic.message + "\n";
    return text;
  }
  // The step whose first argument is `from` is given `to` in its place.
  void give(const std::string& from, const std::string& to) {
    for (Step& step : plan.steps) {
      if (step.arguments[0] == value_named(plan.fused.graph, from))
        step.arguments[0] = value_named(plan.fused.graph, to);
    }
  }
};

}  // namespace

TEST_CASE("verify: a kernel of fixed rank can walk its result where it lies") {
  Fixture f;
  PlannedViews planned(f, R"(
graph: g
inputs: {x: "f32[3, 2, 4]", w: "f32[4, 5]"}
nodes:
  - {op: matmul, in: [x, w], out: y}
  - {op: softmax, in: y, out: s}
  - {op: cumsum, in: y, out: t, axis: 1}
  - {op: concat, in: [s, t], out: c, axis: 1}
outputs: [y, c]
)");
  planned.give("y", "s");
  CHECK(planned.problems() ==
        "internal error in the plan of 'g': stub_y walks axes 0 to 1 of 's' as one, which do not follow each other "
        "where it lies\n");
}

TEST_CASE("verify: a kernel's epilogue sees all that it reads and writes by the extents of the kernel") {
  Fixture f;
  const std::string text = R"(
graph: g
inputs: {x: "f32[3, 2, 4]", w: "f32[4, 30]", scale: "f32[6]", rows: "f32[3, 2, 30]"}
nodes:
  - {op: matmul, in: [x, w], out: y}
  - {op: reshape, in: y, out: heads, shape: [3, 2, 5, 6]}
  - {op: mul, in: [heads, scale], out: scaled}
  - {op: reshape, in: scaled, out: flat, shape: [3, 2, 30]}
  - {op: add, in: [flat, rows], out: sum}
  - {op: exp, in: sum, out: e}
  - {op: concat, in: [e, rows], out: c, axis: 1}
outputs: [sum, c]
)";
  const auto spoilt = [&](const auto& spoil) {
    PlannedViews planned(f, text);
    CHECK(planned.stubs[0].functors.size() == 1);
    spoil(planned.stubs[0].functors[0]);
    return planned.problems();
  };
  const auto member = [](Functor& functor, const std::string& name) -> MemberView& {
    for (FunctorMember& each : functor.members) {
      if (each.name == name) return each.view;
    }
    FAIL("no member " << name);
    return functor.members[0].view;
  };
  const std::string head = "internal error in the plan of 'g': stub_e ";
  CHECK(spoilt([&](Functor& functor) {
          member(functor, "scale").runs = {2, 1};
        }) == head + "walks 'rows' by other extents than the rest of stub_e_epilogue\n");
  CHECK(spoilt([&](Functor& functor) {
          member(functor, "scale").runs = {1, 1};
        }) == head + "walks 'scale' in runs that do not cover its axes\n");
  CHECK(spoilt([&](Functor& functor) {
          member(functor, "e").runs = {2, 2};
        }) == head + "walks 'e' in runs that do not cover its axes\n");
  CHECK(spoilt([&](Functor& functor) { member(functor, "scale").rank = 2; }) ==
        head + "takes 'scale' to have another number of axes\n");
  CHECK(spoilt([&](Functor& functor) { member(functor, "rows").runs = {1, 1}; }) == "");  // as it is
  CHECK(spoilt([&](Functor& functor) {
          Functor::Loop& loop = functor.loops[member(functor, "scale").loop];
          loop = {Functor::none,
                  {{Functor::none, 0, 3}, {Functor::none, 0, 2}, {Functor::none, 0, 10}, {Functor::none, 0, 6}}};
        }).starts_with(head + "broadcasts 'scale' to a shape that nothing in it has\n"));
}

TEST_CASE("verify: a loop can walk what it writes where it lies") {
  Fixture f;
  PlannedViews planned(f, R"(
graph: g
dims: {M: 1..8}
inputs: {x: "f32[M, 4]", z: "f32[M, 6]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: tanh, in: x, out: t}
  - {op: concat, in: [z, t], out: c, axis: 1}
outputs: [e, c]
fusion: {forbid: [[e, t]]}
)");
  planned.give("e", "t");
  CHECK(planned.problems().find("as one, which do not follow each other where it lies") != std::string::npos);
}

TEST_CASE("verify: strides of an input that may have any are not taken to fit") {
  Fixture f;
  PlannedViews planned(f, R"(
graph: g
inputs: {x: "f32[3, 2, 4]", w: "f32[4, 5]"}
nodes: [{op: matmul, in: [x, w], out: y}]
outputs: [y]
)");
  planned.plan.fused.graph.inputs[0].strided = true;
  CHECK(
      planned.problems() ==
      "internal error in the plan of 'g': stub_y walks axes 0 to 1 of 'x' as one, which do not follow each other where "
      "it lies\n");
}

TEST_CASE("verify: a view shows memory as that lies") {
  Fixture f;
  PlannedViews planned(f, R"(
graph: g
inputs: {x: "f32[6, 4]"}
nodes:
  - {op: reshape, in: x, out: r, shape: [4, 6]}
  - {op: sum, in: r, out: y, axes: [1]}
outputs: [y]
)");
  planned.plan.fused.graph.inputs[0].strided = true;
  CHECK(planned.problems() == "internal error in the plan of 'g': 'r' cannot be shown in the memory of 'x'\n");
}

TEST_CASE("verify: what is written through a view lies where the view shows it") {
  Fixture f;
  const std::string text = R"(
graph: g
inputs: {x: "f32[4, 4, 4]"}
nodes:
  - {op: softmax, in: x, out: m}
  - {op: VIEW, in: m, out: y}
outputs: [y]
)";
  const auto spoilt = [&](const std::string& view, const auto& spoil) {
    PlannedViews planned(f, std::string(text).replace(text.find("VIEW"), 4, view));
    Placement& placement = planned.plan.placements[value_named(planned.plan.fused.graph, "m")];
    CHECK(placement.kind == Placement::Kind::part_of);
    spoil(placement.view);
    return planned.problems();
  };
  const std::string found = "internal error in the plan of 'g': 'm' is not written where 'y' shows it\n";
  CHECK(spoilt("transpose, perm: [1, 0, 2]", [](IndexMap& view) { view.axes = {0, 1, 2}; }) == found);
  CHECK(spoilt("flip, axis: 0", [](IndexMap& view) { view.axis = 1; }) == found);
}

TEST_CASE("strided_memory: reshapes and merges that need no copy") {
  const StridedMemory rows{0, {3, 2, 5}, {20, 5, 1}};  // a part of [3, 4, 5]
  CHECK(can_merge(rows, 1, 2));
  CHECK_FALSE(can_merge(rows, 0, 1));
  CHECK(can_merge({0, {3, 1, 5}, {20, 7, 1}}, 1, 2));
  CHECK_FALSE(can_merge({0, {3, 1, 5}, {20, 7, 1}}, 0, 2));
  CHECK(can_merge({0, {3, 0, 5}, {20, 7, 1}}, 0, 1));  // nothing to walk

  IndexMap reshape;
  reshape.form = ViewRule::Form::reshape;
  CHECK(viewed(rows, reshape, {}, {3, 10}) == StridedMemory{0, {3, 10}, {20, 1}});
  CHECK(viewed(rows, reshape, {}, {3, 5, 2}) == StridedMemory{0, {3, 5, 2}, {20, 2, 1}});
  CHECK_FALSE(viewed(rows, reshape, {}, {6, 5}).has_value());
  CHECK_FALSE(viewed(rows, reshape, {}, {3, 11}).has_value());
  CHECK(viewed({4, {2, 1}, {3, 9}}, reshape, {}, {2}) == StridedMemory{4, {2}, {3}});
}
