#include "generator/pass/verify/verify.hpp"

#include <chrono>
#include <random>

#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

std::string problems(const FunctionPlan& plan, const std::vector<FunctionPlan>& functions = {}) {
  Diagnostics diagnostics;
  verify(plan, functions, diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) text += diagnostic.message + "\n";
  return text;
}

// A plan, found right, is spoilt; verify must say `expected`.
struct Corruption {
  FunctionPlan plan;
  const PlanBuilder& b;
  std::vector<FunctionPlan> functions = {};

  explicit Corruption(const PlanBuilder& builder, std::vector<FunctionPlan> callable = {})
      : plan(place(schedule(builder.fused()), callable)), b(builder), functions(std::move(callable)) {
    CHECK(problems(plan, functions) == "");
  }
  Placement& at(const std::string& name) { return plan.placements[b.id(name)]; }
  void found(const std::string& expected) {
    const std::string text = problems(plan, functions);
    CHECK_MESSAGE(text.find(expected) != std::string::npos, "expected: " << expected << "\nfound: " << text);
  }
};

Shape rows() { return {Dim::symbol("M"), 8}; }

// x -> a -> b -> y, with `a` also read by y, so that a and b are alive together.
PlanBuilder two_alive() {
  PlanBuilder b;
  b.dim("M", 0, 100).input("x", rows()).structured("a", {"x"}, rows()).structured("b", {"a"}, rows());
  b.structured("y", {"a", "b"}, rows());
  for (const char* name : {"a", "b", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  return b;
}

PlanBuilder concatenated() {
  PlanBuilder b;
  const Dim m = Dim::symbol("M");
  b.dim("M", 1, 100).input("x", rows()).structured("p", {"x"}, rows()).structured("q", {"x"}, {m, 4});
  b.concat(1, "all", {"p", "q"}, {m, 12}).structured("y", {"all"}, rows());
  for (const char* name : {"p", "q", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  return b;
}

PlanBuilder cached() {
  PlanBuilder b;
  const Dim p = Dim::symbol("P"), s = Dim::symbol("S");
  b.dim("P", 0, 15).dim("S", 1, 16).input("x", {s, 8}).state("cache", {16, 8}).structured("part", {"x"}, {s, 8});
  b.structured("before", {"cache"}, {16, 8})
      .update(0, p, "all", "cache", "part")
      .structured("y", {"all", "before"}, {16, 8});
  for (const char* name : {"before", "part", "y"}) b.alone(GroupKind::structured, name);
  b.next("cache", "all").outputs({"y"}).requirement(p + s, 16, "the update ends within the cache");
  return b;
}

PlanBuilder folded() {
  PlanBuilder b;
  b.input("x", {8})
      .constant("w", {8})
      .structured("t", {"w"}, {8})
      .structured("kept", {"t"}, {8})
      .elementwise("y", {"x", "kept"});
  b.alone(GroupKind::structured, "t", true)
      .alone(GroupKind::structured, "kept", true)
      .alone(GroupKind::elementwise, "y");
  b.outputs({"y"});
  return b;
}

PlanBuilder calling(std::int64_t repeat) {
  PlanBuilder b;
  b.dim("M", 0, 100).input("x", rows()).structured("a", {"x"}, rows());
  b.call(Call{0, repeat, 0}, {"b"}, {"a"}, {{DType::f32, rows()}}).structured("y", {"b"}, rows());
  b.alone(GroupKind::structured, "a").alone(GroupKind::call, "b").alone(GroupKind::structured, "y").outputs({"y"});
  return b;
}

TEST_CASE("verify: values that are alive together share no slot") {
  const PlanBuilder b = two_alive();
  Corruption c(b);
  c.at("b").index = c.at("a").index;
  c.found("'b' is written over 'a' while that is read: the kernel reads it at other places");
}

TEST_CASE("verify: a value that is still to be read is not overwritten") {
  PlanBuilder b;
  b.input("x", {8}).structured("a", {"x"}, {8}).structured("b", {"x"}, {8}).structured("y", {"a", "b"}, {8});
  for (const char* name : {"a", "b", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  Corruption c(b);
  c.at("b").index = c.at("a").index;
  c.found("'a' is read, but 'b' has overwritten it");
}

TEST_CASE("verify: a slot is large enough for every value of the dims") {
  const PlanBuilder b = two_alive();
  Corruption c(b);
  c.plan.slots[c.at("a").index].bytes = Dim(32 * 99);
  c.found("'a' takes 3200 bytes, but its slot has 3168");
}

TEST_CASE("verify: a slot exists") {
  const PlanBuilder b = two_alive();
  Corruption c(b);
  c.at("a").index = 7;
  c.found("'a' lives in a slot that does not exist");
}

TEST_CASE("verify: steps run in an order in which they may") {
  const PlanBuilder b = two_alive();
  Corruption c(b);
  std::swap(c.plan.steps[0], c.plan.steps[1]);
  c.found("'a' is read before it is written");
}

TEST_CASE("verify: every group runs once") {
  const PlanBuilder b = two_alive();
  Corruption missing(b), twice(b);
  missing.plan.steps.pop_back();
  missing.found("the group of 'y' runs 0 times");
  twice.plan.steps.push_back(twice.plan.steps.back());
  twice.found("the group of 'y' runs 2 times");
}

TEST_CASE("verify: what is read from memory is in memory, and outputs are where the caller looks") {
  const PlanBuilder b = two_alive();
  Corruption in_registers(b), elsewhere(b), in_input(b);
  in_registers.at("a") = {};
  in_registers.found("'a' is written, but has no memory");
  in_registers.found("'a' is read from memory, but is in registers");
  elsewhere.at("y") = {Kind::arena, 0, no_id, {}};
  elsewhere.found("the output 'y' does not live in its argument");
  in_input.at("a") = {Kind::input, 0, no_id, {}};
  in_input.found("'a' is a result, but lives in memory that nothing may write");
}

TEST_CASE("verify: a view shows what its node says") {
  PlanBuilder b;
  b.input("x", {8, 8})
      .structured("a", {"x"}, {8, 8})
      .structured("b", {"x"}, {8, 8})
      .view(permute_view({1, 0}), "t", "a", {8, 8});
  b.structured("y", {"t", "b"}, {8, 8});
  for (const char* name : {"a", "b", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  Corruption other_base(b), other_view(b), no_memory(b);
  other_base.at("t").base = b.id("b");
  other_base.found("'t' shows another value than its node says");
  other_view.at("t").view.axes = {0, 1};
  other_view.found("'t' shows other elements than its node says");
  no_memory.at("t") = {Kind::arena, 0, no_id, {}};
  no_memory.found("'t' has memory, but nothing writes it");
}

TEST_CASE("verify: parts tile the whole") {
  const PlanBuilder b = concatenated();
  Corruption shifted(b), shorter(b), other_axis(b), elsewhere(b), no_part(b);
  shifted.at("q").view.begin = Dim(7);
  shifted.found("'q' is written into the wrong slice of 'all'");
  shorter.at("p").view.length = Dim(7);
  shorter.found("'p' is written into the wrong slice of 'all'");
  other_axis.at("p").view.axis = 0;
  other_axis.found("'p' is written into the wrong slice of 'all'");
  elsewhere.at("q") = {Kind::arena, 0, no_id, {}};
  elsewhere.found("'q' is not written into 'all'");
  no_part.at("y") = no_part.at("q");
  no_part.found("'y' lives in a value that it is no part of");
}

TEST_CASE("verify: a whole is read when all its parts are written") {
  const PlanBuilder b = concatenated();
  Corruption c(b);
  std::swap(c.plan.steps[1], c.plan.steps[2]);
  c.found("'all' is read before it is written");
}

TEST_CASE("verify: a part may be read while another part of the same whole is written") {
  PlanBuilder b;
  b.input("x", {8}).structured("p", {"x"}, {8}).elementwise("q", {"p"}).concat(0, "all", {"p", "q"}, {16});
  b.structured("y", {"all"}, {8}).alone(GroupKind::structured, "p").alone(GroupKind::elementwise, "q");
  b.alone(GroupKind::structured, "y").outputs({"y"});
  CHECK(problems(place(b.fused(), {})) == "");
}

TEST_CASE("verify: a state is read as it was before it is updated, and ends as its next value") {
  const PlanBuilder b = cached();
  Corruption late_reader(b), elsewhere(b), part_elsewhere(b);
  REQUIRE(late_reader.plan.fused.groups[late_reader.plan.steps[0].group].outputs[0] == b.id("before"));
  std::swap(late_reader.plan.steps[0], late_reader.plan.steps[1]);
  late_reader.found("'cache' is read, but its buffer holds 'all'");
  elsewhere.at("all") = {Kind::arena, 0, no_id, {}};
  elsewhere.found("'all', the next value of 'cache', does not live in its buffer");
  elsewhere.found("the update 'all' does not live in the state that it updates");
  part_elsewhere.at("part").view.begin = Dim(0);
  part_elsewhere.found("'part' is written into the wrong slice of 'all'");
}

TEST_CASE("verify: one step writes what two updates bring only where they do not meet") {
  const auto found = [](Dim begin) {
    PlanBuilder b;
    b.dim("P", 1, 4).input("x", {2, 4}).state("cache", {8, 4}).elementwise("a", {"x"}).elementwise("b", {"x"});
    b.update(0, 0, "once", "cache", "a").update(0, std::move(begin), "twice", "once", "b");
    b.group(GroupKind::elementwise, {"a", "b"}, {"a", "b"}).next("cache", "twice");
    return problems(place(b.fused(), {}));
  };
  CHECK(found(2) == "");
  CHECK(found(Dim::symbol("P") + 1) == "");
  CHECK(found(1).find("'b' is written over 'a' in the step that writes that") != std::string::npos);
  CHECK(found(Dim::symbol("P")).find("'b' is written over 'a' in the step that writes that") != std::string::npos);
}

TEST_CASE("verify: a next value is written when nobody needs the old one") {
  PlanBuilder b;
  b.state("count", {4}).elementwise("more", {"count"}).elementwise("shown", {"count"});
  b.alone(GroupKind::elementwise, "shown")
      .alone(GroupKind::elementwise, "more")
      .next("count", "more")
      .outputs({"shown"});
  Corruption late(b), not_elementwise(b);
  std::swap(late.plan.steps[0], late.plan.steps[1]);
  late.found("'count' is read, but its buffer holds 'more'");
  not_elementwise.plan.fused.groups[1].loop = {2, 2};
  not_elementwise.found("'more' is written over 'count' while that is read");
}

TEST_CASE("verify: load and calls keep apart") {
  const PlanBuilder b = folded();
  Corruption in_arena(b), other_buffer(b), wrong_phase(b), small(b);
  in_arena.at("kept") = {Kind::arena, 0, no_id, {}};
  in_arena.found("'kept'");
  other_buffer.at("kept").index = 1;
  other_buffer.found("'kept' lives in another persistent buffer");
  wrong_phase.plan.steps.insert(wrong_phase.plan.steps.begin(), wrong_phase.plan.load_steps.back());
  wrong_phase.plan.load_steps.pop_back();
  wrong_phase.found("the group of 'kept' runs in the wrong phase");
  small.plan.load_slots[0].bytes = Dim(31);
  small.found("'t' takes 32 bytes, but its slot has 31");
}

TEST_CASE("verify: in place only by the rule") {
  PlanBuilder b;
  b.input("x", {8, 8})
      .structured("a", {"x"}, {8, 8})
      .view(permute_view({1, 0}), "t", "a", {8, 8})
      .elementwise("b", {"a", "t"});
  b.elementwise("narrow", {"b"}, TensorType{DType::bf16, {8, 8}}).structured("y", {"narrow"}, {8, 8});
  b.alone(GroupKind::structured, "a").alone(GroupKind::elementwise, "b").alone(GroupKind::elementwise, "narrow");
  b.alone(GroupKind::structured, "y").outputs({"y"});
  Corruption through_view(b), narrower(b);
  through_view.at("b").index = through_view.at("a").index;
  through_view.found("'b' is written over 'a' while that is read: it is also read through a view or a part");
  narrower.at("narrow").index = narrower.at("b").index;
  narrower.found("'narrow' is written over 'b' while that is read: their elements differ in size");
}

TEST_CASE("verify: in place, not over what a kernel or a prologue reads") {
  PlanBuilder b;
  b.input("x", {8, 8})
      .structured("left", {"x"}, {8, 8})
      .structured("residual", {"x"}, {8, 8})
      .elementwise("scaled", {"left"});
  b.structured("product", {"scaled"}, {8, 8})
      .elementwise("sum", {"product", "residual"})
      .structured("y", {"sum"}, {8, 8});
  b.alone(GroupKind::structured, "left").alone(GroupKind::structured, "residual");
  b.group(GroupKind::structured, {"scaled", "product", "sum"}, {"sum"})
      .alone(GroupKind::structured, "y")
      .outputs({"y"});
  Corruption c(b);
  CHECK(c.at("sum").index == c.at("residual").index);
  c.at("sum").index = c.at("left").index;
  c.found("'sum' is written over 'left' while that is read: the kernel reads it at other places");
}

TEST_CASE("verify: in place, not where another result of a row or a loop is stored first") {
  PlanBuilder b;
  b.input("x", {8, 8}).structured("a", {"x"}, {8, 8}).elementwise("other", {"a"}).elementwise("mine", {"x"});
  b.structured("y", {"other", "mine"}, {8, 8}).alone(GroupKind::structured, "a");
  b.group(GroupKind::elementwise, {"other", "mine"}, {"other", "mine"})
      .alone(GroupKind::structured, "y")
      .outputs({"y"});
  Corruption c(b);
  std::swap(c.at("other").index, c.at("mine").index);
  c.found("'mine' is written over 'a' while that is read: another result may be stored before it is read");
}

TEST_CASE("verify: two results of one step do not overlap") {
  PlanBuilder b;
  b.input("x", {8}).elementwise("p", {"x"}).elementwise("q", {"x"}).structured("y", {"p", "q"}, {8});
  b.group(GroupKind::elementwise, {"p", "q"}, {"p", "q"}).alone(GroupKind::structured, "y").outputs({"y"});
  Corruption c(b);
  c.at("q").index = c.at("p").index;
  c.found("'p' and 'q' are written to the same place by one step");
}

TEST_CASE("verify: a call keeps its own memory apart") {
  const PlanBuilder inner = two_alive();
  const FunctionPlan function = place(inner.fused(), {});
  const PlanBuilder b = calling(4);
  Corruption over_operand(b, {function}), over_result(b, {function}), small(b, {function}), none(b, {function});
  Corruption no_round(b, {function}), shared_round(b, {function}), swapped(b, {function});
  over_operand.plan.steps[1].call_slot = over_operand.at("a").index;
  over_operand.plan.slots[over_operand.at("a").index].bytes = arena_bytes(function);
  over_operand.found("'a' lies where the call that reads it keeps its own values");
  over_result.plan.steps[1].call_slot = over_result.at("b").index;
  over_result.plan.slots[over_result.at("b").index].bytes = arena_bytes(function);
  over_result.found("'b' and 'b' are written to the same place by one step");
  small.plan.slots[small.plan.steps[1].call_slot].bytes = Dim(64);
  small.found("but its slot has 64");
  none.plan.steps[1].call_slot = no_id;
  none.found("the call of 'b' has no arena");
  no_round.plan.steps[1].carried_slots.clear();
  no_round.found("the call of 'b' has 0 second buffers and needs 1");
  shared_round.plan.steps[1].carried_slots = {shared_round.plan.steps[1].call_slot};
  shared_round.found("'b' lies where the call that makes it keeps its own values");
  std::swap(swapped.plan.steps[1].arguments[0], swapped.plan.steps[1].arguments[1]);
  swapped.found("the call of 'b' has other arguments than its node");
}

TEST_CASE("verify: bindings that the requirements exclude are not tried") {
  const PlanBuilder b = cached();  // P + S may exceed the cache, but for the requirement
  CHECK(problems(place(schedule(b.fused()), {})) == "");
  PlanBuilder open = b;
  open.fused().graph.requirements.clear();
  CHECK(problems(place(schedule(open.fused()), {})).find("the parts of 'all' do not fit into it") != std::string::npos);
}

TEST_CASE("verify: sizes that no machine has do not overflow") {
  PlanBuilder b;
  const Dim m = Dim::symbol("M");
  b.dim("M", 1, std::int64_t{1} << 40)
      .input("x", {m, m, m})
      .structured("a", {"x"}, {m, m, m})
      .structured("y", {"a"}, {m, m, m});
  b.alone(GroupKind::structured, "a").alone(GroupKind::structured, "y").outputs({"y"});
  CHECK(problems(place(b.fused(), {})) == "");
}

// A random graph: elementwise chains, kernels with prologues and epilogues, rows, views, concats and an updated state.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    b_.dim("M", 1, 9).input("x", rows()).constant("w", {8}).state("cache", {4, 8});
    full_ = {"x"};
    for (int i = 0; i < 25; ++i) add(pick(8));
    b_.elementwise("row", {any()}, TensorType{DType::f32, {1, 8}}).update(0, 2, "all", "cache", "row");
    b_.structured("y", {any(), "all"}, rows()).structured("z", {any()}, rows());
    b_.alone(GroupKind::elementwise, "row").alone(GroupKind::structured, "y").alone(GroupKind::structured, "z");
    b_.next("cache", "all").outputs({"y", "z"});
  }
  const PlanBuilder& builder() const { return b_; }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::string fresh() { return "v" + std::to_string(count_++); }
  const std::string& any() { return full_[static_cast<std::size_t>(pick(static_cast<int>(full_.size())))]; }

  void add(int what) {
    const std::string name = fresh();
    if (what == 0) {
      b_.structured(name, {any(), any()}, rows()).alone(GroupKind::structured, name);
    } else if (what == 1) {
      const std::string before = fresh(), product = fresh();
      b_.elementwise(before, {any()}).structured(product, {before, any()}, rows()).elementwise(name, {product, any()});
      b_.group(GroupKind::structured, {before, product, name}, {name});
    } else if (what == 2) {
      const std::string total = fresh();
      b_.node(Reduction{{1}, true}, total, {any()}, TensorType{DType::f32, {Dim::symbol("M"), 1}});
      b_.elementwise(name, {any(), total}).group(GroupKind::rows, {total, name}, {name});
    } else if (what == 3) {
      b_.view(slice_view(1, 0, 8), name, any(), rows());
    } else if (what == 4) {
      const std::string left = fresh(), right = fresh(), whole = fresh();
      const Shape half = {Dim::symbol("M"), 4};
      b_.elementwise(left, {any()}, TensorType{DType::f32, half}).elementwise(right, {left});
      b_.concat(1, whole, {left, right}, rows())
          .alone(GroupKind::elementwise, left)
          .alone(GroupKind::elementwise, right);
      full_.push_back(whole);
      b_.elementwise(name, {whole, any()}).alone(GroupKind::elementwise, name);
    } else {
      const std::string first = fresh();
      b_.elementwise(first, {any(), any()}).elementwise(name, {first, any()});
      const bool both = what == 7;
      b_.group(GroupKind::elementwise, {first, name},
               both ? PlanBuilder::Names{first, name} : PlanBuilder::Names{name});
      if (both) full_.push_back(first);
    }
    full_.push_back(name);
  }

  std::mt19937 random_;
  PlanBuilder b_;
  std::vector<std::string> full_;  // values in memory of the full shape
  int count_ = 0;
};

TEST_CASE("verify: what schedule and place make of random graphs is right, and two slots made one are not") {
  int caught = 0, spoilt = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomGraph random(seed);
    FunctionPlan plan = place(schedule(random.builder().fused()), {});
    const std::string found = problems(plan);
    REQUIRE_MESSAGE(found == "", "seed " << seed << ": " << found);
    if (plan.slots.size() < 2) continue;
    for (Placement& placement : plan.placements) {
      if (placement.kind == Kind::arena && placement.index == 1) placement.index = 0;
    }
    ++spoilt;
    if (problems(plan) != "") ++caught;
  }
  CHECK(spoilt > 250);
  CHECK(caught == spoilt);  // a slot of its own means that its first value met one in every other slot
}

TEST_CASE("verify: 100,000 nodes") {
  PlanBuilder b;
  b.dim("M", 1, 100).input("v0", {Dim::symbol("M"), 64});
  for (int i = 1; i <= 100000; ++i) {
    const std::string name = "v" + std::to_string(i);
    b.structured(name, {"v" + std::to_string(i - 1)}, {Dim::symbol("M"), 1 + i % 1000})
        .alone(GroupKind::structured, name);
  }
  b.outputs({"v100000"});
  const FunctionPlan plan = place(std::move(b.fused()), {});
  const auto start = std::chrono::steady_clock::now();
  CHECK(problems(plan) == "");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  MESSAGE("verify of 100,000 nodes: " << taken.count() << " s");
}

}  // namespace
}  // namespace kgen
