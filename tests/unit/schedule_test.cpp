#include "generator/pass/place/schedule.hpp"

#include <chrono>

#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

std::vector<std::string> order_of(const FusedGraph& fused) {
  std::vector<std::string> names;
  for (const Group& group : fused.groups) names.push_back(fused.graph.value(group.outputs[0]).name);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("schedule: groups that were formed late follow the order of the file again") {
  PlanBuilder b;
  b.input("x", {8})
      .elementwise("a", {"x"})
      .elementwise("b", {"x"})
      .elementwise("c", {"a"})
      .elementwise("d", {"b", "c"});
  for (const char* name : {"b", "a", "c", "d"}) b.alone(GroupKind::elementwise, name);
  b.outputs({"d"});
  const FusedGraph fused = schedule(b.fused());
  CHECK(order_of(fused) == Names{"a", "b", "c", "d"});
  for (std::uint32_t group = 0; group < 4; ++group) CHECK(fused.group_of[fused.groups[group].nodes[0]] == group);
}

TEST_CASE("schedule: a group waits for what it reads, through views and destinations") {
  PlanBuilder b;
  b.input("x", {8}).elementwise("early", {"x"}).elementwise("p", {"x"}).elementwise("q", {"x"});
  b.concat(0, "whole", {"p", "q"}, {16})
      .view(slice_view(0, 4, 8), "middle", "whole", {8})
      .elementwise("late", {"middle"});
  // `late` is fused with `early`, so the group's first node stands before p and q.
  b.group(GroupKind::elementwise, {"early", "late"}, {"late"});
  b.alone(GroupKind::elementwise, "q").alone(GroupKind::elementwise, "p").outputs({"late"});
  CHECK(order_of(schedule(b.fused())) == Names{"p", "q", "late"});
}

TEST_CASE("schedule: readers of a state come before the update that overwrites it") {
  PlanBuilder b;
  b.input("x", {1, 4}).state("cache", {8, 4}).elementwise("part", {"x"}).update(0, 0, "all", "cache", "part");
  b.elementwise("old", {"cache"}).elementwise("new", {"all"});
  b.alone(GroupKind::elementwise, "part").alone(GroupKind::elementwise, "new").alone(GroupKind::elementwise, "old");
  b.next("cache", "all").outputs({"old", "new"});
  CHECK(order_of(schedule(b.fused())) == Names{"old", "part", "new"});
}

TEST_CASE("schedule: updates of one state keep their order") {
  PlanBuilder b;
  b.input("x", {1, 4}).state("cache", {8, 4}).elementwise("b", {"x"}).elementwise("a", {"x"});
  b.update(0, 0, "once", "cache", "a").elementwise("between", {"once"}).update(0, 0, "twice", "once", "b");
  b.alone(GroupKind::elementwise, "b").alone(GroupKind::elementwise, "a").alone(GroupKind::elementwise, "between");
  b.next("cache", "twice").outputs({"between"});
  CHECK(order_of(schedule(b.fused())) == Names{"a", "between", "b"});
}

TEST_CASE("schedule: a group that brings what two updates do waits for what the first waits for, and not for itself") {
  PlanBuilder b;
  b.input("x", {1, 4}).state("cache", {8, 4}).elementwise("a", {"x"}).elementwise("b", {"x"}).elementwise("c", {"x"});
  b.update(0, 0, "once", "cache", "a").update(0, 1, "twice", "once", "b").update(0, 2, "thrice", "twice", "c");
  b.group(GroupKind::elementwise, {"b", "c"}, {"b", "c"}).alone(GroupKind::elementwise, "a");
  b.next("cache", "thrice");
  CHECK(order_of(schedule(b.fused())) == Names{"a", "b"});
}

TEST_CASE("schedule: a group may read a state and make its next value") {
  PlanBuilder b;
  b.state("count", {4}).elementwise("more", {"count"}).elementwise("shown", {"count"});
  b.alone(GroupKind::elementwise, "more")
      .alone(GroupKind::elementwise, "shown")
      .next("count", "more")
      .outputs({"shown"});
  CHECK(order_of(schedule(b.fused())) == Names{"shown", "more"});
}

TEST_CASE("schedule: 100,000 groups") {
  PlanBuilder b;
  b.input("v0", {8});
  for (int i = 1; i <= 100000; ++i) {
    b.elementwise("v" + std::to_string(i), {"v" + std::to_string(i - 1), "v" + std::to_string(i / 2)});
  }
  for (int i = 100000; i > 0; --i) b.alone(GroupKind::elementwise, "v" + std::to_string(i));
  const auto start = std::chrono::steady_clock::now();
  const FusedGraph fused = schedule(std::move(b.fused()));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(fused.group_of[0] == 0);
  CHECK(fused.group_of[99999] == 99999);
  MESSAGE("schedule of 100,000 groups: " << taken.count() << " s");
}

}  // namespace
}  // namespace kgen
