#include "generator/pass/place/place.hpp"

#include <chrono>
#include <functional>
#include <set>

#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

const Placement& placement(const PlanBuilder& b, const FunctionPlan& plan, const std::string& name) {
  return plan.placements[b.id(name)];
}

Shape rows_by_64() { return {Dim::symbol("M"), 64}; }

// x -> a -> b -> c -> y, each alone; `kind` is what makes `b` and `c`.
PlanBuilder chain() {
  PlanBuilder b;
  b.dim("M", 1, 100).input("x", rows_by_64());
  b.structured("a", {"x"}, rows_by_64()).structured("b", {"a"}, rows_by_64()).structured("c", {"b"}, rows_by_64());
  b.structured("y", {"c"}, rows_by_64());
  for (const char* name : {"a", "b", "c", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  return b;
}

TEST_CASE("place: inputs, constants, outputs and registers") {
  PlanBuilder b;
  b.input("x", {8}).constant("w", {8}).elementwise("t", {"x", "w"}).elementwise("y", {"t"});
  b.group(GroupKind::elementwise, {"t", "y"}, {"y"}).outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "x").kind == Kind::input);
  CHECK(placement(b, plan, "w").kind == Kind::constant);
  CHECK(placement(b, plan, "t").kind == Kind::registers);
  CHECK(placement(b, plan, "y").kind == Kind::output);
  CHECK(plan.slots.empty());
  CHECK(plan.steps.size() == 1);
}

TEST_CASE("place: a slot is used again once its value is dead") {
  const PlanBuilder b = chain();
  const FunctionPlan plan = place(b.fused(), {});
  REQUIRE(plan.slots.size() == 2);
  CHECK(placement(b, plan, "a").index == 0);
  CHECK(placement(b, plan, "b").index == 1);
  CHECK(placement(b, plan, "c").index == 0);
  CHECK(plan.slots[0].bytes.text() == "256*M");
}

TEST_CASE("place: a smaller value takes a larger slot, and a free slot grows for a larger value") {
  PlanBuilder b;
  const Dim m = Dim::symbol("M");
  b.dim("M", 1, 100).input("x", {m}).structured("a", {"x"}, {m, 8}).structured("b", {"a"}, {1});
  b.structured("c", {"b"}, {m}).structured("d", {"c"}, {m, 16}).structured("y", {"d"}, {m});
  for (const char* name : {"a", "b", "c", "d", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  REQUIRE(plan.slots.size() == 2);
  CHECK(placement(b, plan, "c").index == placement(b, plan, "a").index);
  CHECK(placement(b, plan, "d").index == placement(b, plan, "b").index);
  CHECK(plan.slots[placement(b, plan, "a").index].bytes.text() == "32*M");
  CHECK(plan.slots[placement(b, plan, "d").index].bytes.text() == "64*M");
}

TEST_CASE("place: sizes that cannot be compared do not share") {
  PlanBuilder b;
  const Dim m = Dim::symbol("M"), n = Dim::symbol("N");
  b.dim("M", 1, 100).dim("N", 1, 100).input("x", {m});
  b.structured("a", {"x"}, {m}).structured("b", {"a"}, {1}).structured("c", {"b"}, {n}).structured("y", {"c"}, {m});
  for (const char* name : {"a", "b", "c", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "a").index != placement(b, plan, "c").index);
}

TEST_CASE("place: a view keeps what it shows alive") {
  PlanBuilder b;
  b.input("x", {8, 8}).structured("a", {"x"}, {8, 8}).view(permute_view({1, 0}), "t", "a", {8, 8});
  b.structured("b", {"x"}, {8, 8}).structured("c", {"b"}, {8, 8}).structured("y", {"t", "c"}, {8, 8});
  for (const char* name : {"a", "b", "c", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "t").kind == Kind::view_of);
  CHECK(placement(b, plan, "t").base == b.id("a"));
  CHECK(plan.slots.size() == 3);
  CHECK(placement(b, plan, "c").index != placement(b, plan, "a").index);
}

TEST_CASE("place: parts are written into the whole, and nest") {
  PlanBuilder b;
  b.input("x", {2, 4}).structured("p", {"x"}, {2, 4}).structured("q", {"x"}, {2, 4}).structured("r", {"x"}, {2, 8});
  b.concat(1, "pq", {"p", "q"}, {2, 8}).concat(0, "all", {"pq", "r"}, {4, 8}).structured("y", {"all"}, {4, 8});
  for (const char* name : {"p", "q", "r", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "all").kind == Kind::arena);
  REQUIRE(placement(b, plan, "q").kind == Kind::part_of);
  CHECK(placement(b, plan, "q").base == b.id("pq"));
  CHECK(placement(b, plan, "q").view.form == ViewRule::Form::slice);
  CHECK(placement(b, plan, "q").view.axis == 1);
  CHECK(placement(b, plan, "q").view.begin == Dim(4));
  CHECK(placement(b, plan, "q").view.length == Dim(4));
  CHECK(placement(b, plan, "pq").base == b.id("all"));
  CHECK(placement(b, plan, "pq").view.begin == Dim(0));
  CHECK(placement(b, plan, "r").view.begin == Dim(2));
  REQUIRE(plan.slots.size() == 1);
  CHECK(plan.slots[0].bytes == Dim(128));
}

TEST_CASE("place: a whole that is an output is put together there") {
  PlanBuilder b;
  b.input("x", {4}).elementwise("p", {"x"}).elementwise("q", {"x"}).concat(0, "y", {"p", "q"}, {8});
  b.alone(GroupKind::elementwise, "p").alone(GroupKind::elementwise, "q").outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "y").kind == Kind::output);
  CHECK(placement(b, plan, "q").kind == Kind::part_of);
  CHECK(plan.slots.empty());
}

TEST_CASE("place: an update lives in its state, and its part is written there") {
  PlanBuilder b;
  const Dim p = Dim::symbol("P");
  b.dim("P", 0, 7).input("x", {1, 4}).state("cache", {8, 4}).elementwise("part", {"x"});
  b.update(0, p, "all", "cache", "part").elementwise("y", {"all"});
  b.alone(GroupKind::elementwise, "part").alone(GroupKind::elementwise, "y").next("cache", "all").outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "all").kind == Kind::state);
  CHECK(placement(b, plan, "all").index == 0);
  CHECK(placement(b, plan, "part").kind == Kind::part_of);
  CHECK(placement(b, plan, "part").view.begin == p);
  CHECK(placement(b, plan, "part").view.length == Dim(1));
}

TEST_CASE("place: a state's next value is written into its buffer") {
  PlanBuilder b;
  b.state("count", {4}).elementwise("more", {"count"}).alone(GroupKind::elementwise, "more").next("count", "more");
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "more").kind == Kind::state);
}

TEST_CASE("place: in place, an elementwise output takes over an input that dies") {
  PlanBuilder b;
  b.input("x", {8, 8}).structured("a", {"x"}, {8, 8}).elementwise("b", {"a"}).structured("y", {"b"}, {8, 8});
  b.alone(GroupKind::structured, "a").alone(GroupKind::elementwise, "b").alone(GroupKind::structured, "y");
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(plan.slots.size() == 1);
  CHECK(placement(b, plan, "b").index == placement(b, plan, "a").index);
}

TEST_CASE("place: not in place where the input lives on, has another width or shape, or is read through a view") {
  const auto slots_with = [](const std::function<void(PlanBuilder&)>& middle) {
    PlanBuilder b;
    b.input("x", {8, 8}).structured("a", {"x"}, {8, 8});
    middle(b);
    b.structured("y", {"b"}, {8, 8});
    b.alone(GroupKind::structured, "a").alone(GroupKind::elementwise, "b").alone(GroupKind::structured, "y");
    b.outputs({"y"});
    return place(b.fused(), {}).slots.size();
  };
  CHECK(slots_with([](PlanBuilder& b) { b.elementwise("b", {"a"}); }) == 1);
  CHECK(slots_with([](PlanBuilder& b) { b.elementwise("b", {"a"}, TensorType{DType::i32, {8, 8}}); }) == 1);
  CHECK(slots_with([](PlanBuilder& b) { b.elementwise("b", {"a"}, TensorType{DType::bf16, {8, 8}}); }) == 2);
  CHECK(slots_with([](PlanBuilder& b) { b.elementwise("b", {"a"}, TensorType{DType::bf16, {8, 8, 2}}); }) == 2);
  CHECK(slots_with([](PlanBuilder& b) {
          b.view(permute_view({1, 0}), "t", "a", {8, 8}).elementwise("b", {"a", "t"});
        }) == 2);
  CHECK(slots_with([](PlanBuilder& b) {
          b.view(permute_view({1, 0}), "t", "a", {8, 8}).elementwise("b", {"t"});
        }) == 2);

  PlanBuilder b;
  b.input("x", {8, 8}).structured("a", {"x"}, {8, 8}).elementwise("b", {"a"}).structured("y", {"a", "b"}, {8, 8});
  b.alone(GroupKind::structured, "a").alone(GroupKind::elementwise, "b").alone(GroupKind::structured, "y");
  b.outputs({"y"});
  CHECK(place(b.fused(), {}).slots.size() == 2);
}

TEST_CASE("place: not in place where a view stands within the group") {
  PlanBuilder b;
  b.input("x", {8, 8})
      .structured("a", {"x"}, {8, 8})
      .elementwise("e", {"a"})
      .view(permute_view({1, 0}), "t", "e", {8, 8});
  b.elementwise("b", {"t"}).structured("y", {"b"}, {8, 8}).alone(GroupKind::structured, "a");
  b.group(GroupKind::elementwise, {"e", "b"}, {"b"}).alone(GroupKind::structured, "y").outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "t").kind == Kind::registers);
  CHECK(plan.slots.size() == 2);
}

TEST_CASE("place: an epilogue may take over its residual, but no operand of the kernel and nothing a prologue reads") {
  PlanBuilder b;
  b.input("x", {8, 8}).structured("left", {"x"}, {8, 8}).structured("right", {"x"}, {8, 8});
  b.structured("residual", {"x"}, {8, 8})
      .elementwise("prologue", {"left"})
      .structured("product", {"prologue", "right"}, {8, 8});
  b.elementwise("sum", {"product", "residual"}).structured("y", {"sum"}, {8, 8});
  for (const char* name : {"left", "right", "residual"}) b.alone(GroupKind::structured, name);
  b.group(GroupKind::structured, {"prologue", "product", "sum"}, {"sum"})
      .alone(GroupKind::structured, "y")
      .outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "sum").index == placement(b, plan, "residual").index);

  PlanBuilder c;  // no residual: nothing that dies may give way
  c.input("x", {8, 8})
      .structured("left", {"x"}, {8, 8})
      .structured("right", {"x"}, {8, 8})
      .elementwise("prologue", {"left"});
  c.structured("product", {"prologue", "right"}, {8, 8})
      .elementwise("sum", {"product", "left"})
      .structured("y", {"sum"}, {8, 8});
  for (const char* name : {"left", "right"}) c.alone(GroupKind::structured, name);
  c.group(GroupKind::structured, {"prologue", "product", "sum"}, {"sum"})
      .alone(GroupKind::structured, "y")
      .outputs({"y"});
  CHECK(place(c.fused(), {}).slots.size() == 3);
}

TEST_CASE("place: of several outputs, one whose own node reads the input may take it over") {
  PlanBuilder b;
  b.input("x", {8}).structured("a", {"x"}, {8}).elementwise("other", {"x"}).elementwise("own", {"a"});
  b.structured("y", {"other", "own"}, {8}).alone(GroupKind::structured, "a");
  b.group(GroupKind::elementwise, {"other", "own"}, {"other", "own"}).alone(GroupKind::structured, "y").outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(plan.slots.size() == 2);
  CHECK(placement(b, plan, "own").index == placement(b, plan, "a").index);
  CHECK(placement(b, plan, "other").index != placement(b, plan, "a").index);
}

TEST_CASE("place: outputs of one step never share a slot, even where nobody reads one of them") {
  PlanBuilder b;
  b.input("x", {8}).elementwise("unread", {"x"}).elementwise("used", {"unread"}).structured("y", {"used"}, {8});
  b.group(GroupKind::elementwise, {"unread", "used"}, {"unread", "used"}).alone(GroupKind::structured, "y");
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(placement(b, plan, "unread").index != placement(b, plan, "used").index);
}

TEST_CASE("place: rows run in place for a single output only") {
  const auto slots_with = [](const std::vector<std::string>& outputs) {
    PlanBuilder b;
    b.input("x", {8, 8}).structured("a", {"x"}, {8, 8});
    b.node(Reduction{{1}, true}, "total", {"a"}, TensorType{DType::f32, {8, 1}}).elementwise("scaled", {"a", "total"});
    b.structured("y", outputs, {8, 8}).alone(GroupKind::structured, "a");
    b.group(GroupKind::rows, {"total", "scaled"}, outputs).alone(GroupKind::structured, "y").outputs({"y"});
    return place(b.fused(), {}).slots.size();
  };
  CHECK(slots_with({"scaled"}) == 1);
  CHECK(slots_with({"scaled", "total"}) == 3);
}

TEST_CASE("place: results of load that calls read are kept; the rest shares the arena of load") {
  PlanBuilder b;
  b.input("x", {8}).constant("w", {8}).structured("t", {"w"}, {16}).structured("folded", {"t"}, {8});
  b.elementwise("y", {"x", "folded"});
  b.alone(GroupKind::structured, "t", true)
      .alone(GroupKind::structured, "folded", true)
      .alone(GroupKind::elementwise, "y");
  b.outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(plan.load_steps.size() == 2);
  CHECK(plan.steps.size() == 1);
  CHECK(placement(b, plan, "folded").kind == Kind::persistent);
  CHECK(plan.persistent == std::vector<ValueId>{b.id("folded")});
  CHECK(placement(b, plan, "t").kind == Kind::arena);
  REQUIRE(plan.load_slots.size() == 1);
  CHECK(plan.load_slots[0].bytes == Dim(64));
  CHECK(plan.slots.empty());
}

TEST_CASE("place: load leaves the memory of calls alone") {
  PlanBuilder b;
  b.input("x", {8})
      .constant("w", {8})
      .elementwise("p", {"w"})
      .elementwise("q", {"x"})
      .concat(0, "all", {"p", "q"}, {16});
  b.elementwise("y", {"all"}).elementwise("z", {"w"});
  b.alone(GroupKind::elementwise, "p", true).alone(GroupKind::elementwise, "q").alone(GroupKind::elementwise, "y");
  b.alone(GroupKind::elementwise, "z", true).outputs({"y", "z"});
  const FunctionPlan plan = place(b.fused(), {});
  CHECK(plan.load_steps.empty());
  CHECK(plan.steps.size() == 4);
  CHECK(plan.persistent.empty());
}

TEST_CASE("place: a call has a slot for the function's arena and second buffers for what goes round") {
  const PlanBuilder inner = chain();
  const FunctionPlan function = place(inner.fused(), {});
  CHECK(arena_bytes(function).evaluate({{"M", 3}}) == 2 * 768);

  PlanBuilder b;
  b.dim("M", 1, 100).input("x", rows_by_64()).structured("a", {"x"}, rows_by_64());
  b.call(Call{0, 3, 0}, {"b"}, {"a"}, {{DType::f32, rows_by_64()}}).structured("y", {"b"}, rows_by_64());
  b.alone(GroupKind::structured, "a").alone(GroupKind::call, "b").alone(GroupKind::structured, "y").outputs({"y"});
  const FunctionPlan plan = place(b.fused(), {function});
  const Step& step = plan.steps[1];
  CHECK(step.arguments == std::vector<ValueId>{b.id("b"), b.id("a")});
  REQUIRE(step.call_slot != no_id);
  CHECK(plan.slots[step.call_slot].bytes == arena_bytes(function));
  REQUIRE(step.carried_slots.size() == 1);
  const std::set<std::uint32_t> apart = {step.call_slot, step.carried_slots[0], placement(b, plan, "a").index,
                                         placement(b, plan, "b").index};
  CHECK(apart.size() == 4);
}

TEST_CASE("place: a function takes its arena also where all that it holds has no elements") {
  PlanBuilder inner;
  inner.input("x", {8}).structured("a", {"x"}, {0}).structured("y", {"a"}, {8});
  inner.alone(GroupKind::structured, "a").alone(GroupKind::structured, "y").outputs({"y"});
  const FunctionPlan function = place(inner.fused(), {});
  CHECK(function.slots.size() == 1);
  CHECK(arena_bytes(function) == Dim(0));

  PlanBuilder b;
  b.input("x", {8}).call(Call{0, 1, 0}, {"y"}, {"x"}, {{DType::f32, {8}}});
  b.alone(GroupKind::call, "y").outputs({"y"});
  CHECK(place(b.fused(), {function}).steps[0].call_slot != no_id);
}

TEST_CASE("place: 100,000 nodes") {
  PlanBuilder b;
  const Dim m = Dim::symbol("M");
  b.dim("M", 1, 100).input("v0", {m, 64});
  for (int i = 1; i <= 100000; ++i) {
    const std::string name = "v" + std::to_string(i);
    b.structured(name, {"v" + std::to_string(i - 1)}, {m, 1 + i % 1000}).alone(GroupKind::structured, name);
  }
  b.outputs({"v100000"});
  const auto start = std::chrono::steady_clock::now();
  const FunctionPlan plan = place(std::move(b.fused()), {});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(plan.slots.size() == 2);
  MESSAGE("place of 100,000 nodes: " << taken.count() << " s");
}

}  // namespace
}  // namespace kgen
