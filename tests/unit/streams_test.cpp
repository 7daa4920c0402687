#include "generator/pass/place/streams.hpp"

#include <chrono>
#include <random>

#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/verify/verify.hpp"
#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

using Names = std::vector<std::string>;

// "k_rotated: stream 1 after normed" for each group.
Names streams_of(const FusedGraph& fused) {
  const auto name = [&](std::uint32_t group) { return fused.graph.value(fused.groups[group].outputs[0]).name; };
  Names lines;
  for (std::uint32_t i = 0; i < fused.groups.size(); ++i) {
    std::string line = name(i) + ": stream " + std::to_string(fused.groups[i].stream);
    for (const std::uint32_t other : fused.groups[i].waits) line += " after " + name(other);
    lines.push_back(line);
  }
  return lines;
}

std::string problems(const FunctionPlan& plan) {
  Diagnostics diagnostics;
  verify(plan, {}, diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) text += diagnostic.message + "\n";
  return text;
}

// The projections of an attention: three branches from one value, and one value from the three.
PlanBuilder attention() {
  PlanBuilder b;
  b.input("x", {8, 8}).structured("normed", {"x"}, {8, 8});
  for (const char* name : {"q", "k", "v"}) b.structured(name, {"normed"}, {8, 8});
  b.structured("q_rotated", {"q"}, {8, 8}).structured("k_rotated", {"k"}, {8, 8});
  b.structured("attended", {"q_rotated", "k_rotated", "v"}, {8, 8}).structured("y", {"attended", "x"}, {8, 8});
  for (const char* name : {"normed", "q", "k", "v", "q_rotated", "k_rotated", "attended", "y"}) {
    b.alone(GroupKind::structured, name);
  }
  b.outputs({"y"});
  return b;
}

TEST_CASE("streams: independent branches have streams of their own, and wait only across streams") {
  CHECK(streams_of(assign_streams(attention().fused(), 4)) ==
        Names{"normed: stream 0", "q: stream 0", "k: stream 1 after normed", "v: stream 2 after normed",
              "q_rotated: stream 0", "k_rotated: stream 1", "attended: stream 0 after v after k_rotated",
              "y: stream 0"});
}

TEST_CASE("streams: a short loop stays behind what it needs, a long one has a stream of its own") {
  const auto rotated = [](const Dim& rows) {
    PlanBuilder b;
    b.input("x", {rows, 4096});
    for (const char* name : {"q", "k"}) b.structured(name, {"x"}, {rows, 4096});
    for (const char* name : {"q", "k"}) b.elementwise(std::string(name) + "_rotated", {name});
    b.structured("y", {"q_rotated", "k_rotated"}, {rows, 4096});
    b.group(GroupKind::structured, {"q", "k"}, {"q", "k"});
    for (const char* name : {"q_rotated", "k_rotated"}) b.alone(GroupKind::elementwise, name);
    b.alone(GroupKind::structured, "y").outputs({"y"});
    return streams_of(assign_streams(b.fused(), 4));
  };
  CHECK(rotated(1) == Names{"q: stream 0", "q_rotated: stream 0", "k_rotated: stream 0", "y: stream 0"});
  CHECK(rotated(4096) ==
        Names{"q: stream 0", "q_rotated: stream 0", "k_rotated: stream 1 after q", "y: stream 0 after k_rotated"});
}

TEST_CASE("streams: with one stream nothing changes") {
  for (const Group& group : assign_streams(attention().fused(), 1).groups) {
    CHECK(group.stream == 0);
    CHECK(group.waits.empty());
  }
}

TEST_CASE("streams: where there are too few, the one that was given work longest ago takes more") {
  CHECK(streams_of(assign_streams(attention().fused(), 2)) ==
        Names{"normed: stream 0", "q: stream 0", "k: stream 1 after normed", "v: stream 0",
              "q_rotated: stream 1 after q", "k_rotated: stream 0 after k", "attended: stream 0 after q_rotated",
              "y: stream 0"});
}

TEST_CASE("streams: what overwrites a state waits for those that read it on other streams") {
  PlanBuilder b;
  b.input("x", {1, 4}).state("cache", {8, 4}).structured("m", {"x"}, {1, 4}).structured("old", {"cache"}, {8, 4});
  b.structured("part", {"m"}, {1, 4}).update(0, 0, "all", "cache", "part").structured("new", {"all"}, {8, 4});
  for (const char* name : {"m", "old", "part", "new"}) b.alone(GroupKind::structured, name);
  b.next("cache", "all").outputs({"old", "new"});
  CHECK(streams_of(assign_streams(b.fused(), 4)) ==
        Names{"m: stream 0", "old: stream 1", "part: stream 0 after old", "new: stream 0"});
  FunctionPlan plan = place(b.fused(), {}, 4);
  CHECK(problems(plan) == "");
  plan.fused.groups[2].waits.clear();
  CHECK(problems(plan).find("'part' is written while another stream may still use") != std::string::npos);
}

TEST_CASE("streams: what is computed at load is waited for by nobody, and calls are on stream 0") {
  PlanBuilder b;
  b.input("x", {8}).constant("w", {8}).structured("kept", {"w"}, {8}).structured("a", {"x"}, {8});
  b.structured("b", {"x"}, {8}).structured("y", {"a", "b", "kept"}, {8});
  b.alone(GroupKind::structured, "kept", /*at_load=*/true);
  for (const char* name : {"a", "b", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  CHECK(streams_of(assign_streams(b.fused(), 4)) ==
        Names{"kept: stream 0", "a: stream 0", "b: stream 1", "y: stream 0 after b"});
  FusedGraph with_call = b.fused();
  with_call.groups[2].kind = GroupKind::call;
  CHECK(streams_of(assign_streams(with_call, 4)).at(2) == "b: stream 0");
}

TEST_CASE("streams: values that may be in use at once share no slot") {
  // a is dead once p has read it, but q's branch may still be at b, which on one stream would take a's slot.
  PlanBuilder b;
  b.input("x", {64}).structured("a", {"x"}, {64}).structured("b", {"x"}, {64}).structured("p", {"a"}, {64});
  b.structured("q", {"b"}, {64}).structured("r", {"q"}, {64}).structured("y", {"p", "r"}, {64});
  for (const char* name : {"a", "p", "b", "q", "r", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  const FunctionPlan one = place(b.fused(), {});
  CHECK(one.placements[b.id("b")].index == one.placements[b.id("a")].index);
  FunctionPlan several = place(b.fused(), {}, 4);
  CHECK(several.streams == 2);
  CHECK(several.placements[b.id("b")].index != several.placements[b.id("a")].index);
  CHECK(problems(several) == "");

  several.placements[b.id("b")].index = several.placements[b.id("a")].index;
  CHECK(problems(several).find("'b' is written while another stream may still use what lay there before") !=
        std::string::npos);
}

TEST_CASE("streams: every part of a whole waits for those that used its memory before") {
  PlanBuilder b;
  b.input("x", {64}).structured("a", {"x"}, {128}).structured("used", {"a"}, {64});
  b.structured("p", {"used"}, {64}).structured("q", {"x"}, {64}).concat(0, "whole", {"p", "q"}, {128});
  b.structured("y", {"whole"}, {64});
  for (const char* name : {"a", "used", "p", "q", "y"}) b.alone(GroupKind::structured, name);
  b.outputs({"y"});
  const FunctionPlan one = place(b.fused(), {});
  CHECK(one.placements[b.id("whole")].index == one.placements[b.id("a")].index);
  FunctionPlan several = place(b.fused(), {}, 4);
  CHECK(problems(several) == "");
  CHECK(several.placements[b.id("whole")].index != several.placements[b.id("a")].index);
  several.placements[b.id("whole")].index = several.placements[b.id("a")].index;
  CHECK(problems(several).find("'q' is written while another stream may still use") != std::string::npos);
}

TEST_CASE("streams: verify finds every wait that is missing") {
  const FunctionPlan plan = place(attention().fused(), {}, 4);
  REQUIRE(problems(plan) == "");
  int waits = 0;
  for (std::size_t group = 0; group < plan.fused.groups.size(); ++group) {
    for (std::size_t i = 0; i < plan.fused.groups[group].waits.size(); ++i) {
      FunctionPlan spoilt = plan;
      auto& all = spoilt.fused.groups[group].waits;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(problems(spoilt).find("without waiting for that") != std::string::npos);
      ++waits;
    }
  }
  CHECK(waits == 4);
}

// Random graphs: each value reads a few earlier ones; some are concatenated.
PlanBuilder random_graph(unsigned seed) {
  std::mt19937 random(seed);
  PlanBuilder b;
  Names names = {"x"};
  b.dim("M", 1, 8).input("x", {Dim::symbol("M"), 4});
  const auto pick = [&](std::size_t reach) {
    const std::size_t from = names.size() > reach ? names.size() - reach : 0;
    return names[from + random() % (names.size() - from)];
  };
  Names made;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "v" + std::to_string(i);
    const bool elementwise = random() % 3 == 0;
    if (elementwise) {
      b.elementwise(name, {pick(6), pick(12)});
    } else {
      b.structured(name, {pick(6), pick(40)}, {Dim::symbol("M"), 4});
    }
    b.alone(elementwise ? GroupKind::elementwise : GroupKind::structured, name);
    names.push_back(name);
    if (i % 10 == 9) {  // two fresh parts that nobody else reads
      for (const char* part : {"p", "q"}) {
        b.structured(name + part, {pick(8)}, {Dim::symbol("M"), 4}).alone(GroupKind::structured, name + part);
      }
      b.concat(1, name + "pq", {name + "p", name + "q"}, {Dim::symbol("M"), 8});
      b.structured(name + "whole", {name + "pq"}, {Dim::symbol("M"), 4});
      b.alone(GroupKind::structured, name + "whole");
      names.push_back(name + "whole");
    }
  }
  b.outputs({names.back()});
  return b;
}

TEST_CASE("streams: random graphs are placed right, and no wait in them is needless") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const FunctionPlan plan = place(schedule(random_graph(seed).fused()), {}, 1 + seed % 4);
    REQUIRE_MESSAGE(problems(plan) == "", "seed " << seed);
    // Without a wait, something is out of order: a value, or memory.
    const std::size_t group = seed % plan.fused.groups.size();
    for (std::size_t i = 0; i < plan.fused.groups[group].waits.size(); ++i) {
      FunctionPlan spoilt = plan;
      auto& all = spoilt.fused.groups[group].waits;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_MESSAGE(problems(spoilt) != "", "seed " << seed << " group " << group);
    }
  }
}

TEST_CASE("streams: 100,000 groups") {
  PlanBuilder b;
  b.input("v0", {8});
  for (int i = 1; i <= 100000; ++i) {
    b.structured("v" + std::to_string(i), {"v" + std::to_string(i - 1 - i % 3 / 2), "v" + std::to_string(i / 2)}, {8});
    b.alone(GroupKind::structured, "v" + std::to_string(i));
  }
  b.outputs({"v100000"});
  const auto start = std::chrono::steady_clock::now();
  const FunctionPlan plan = place(std::move(b.fused()), {}, 4);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(plan.streams > 1);
  MESSAGE("streams and memory of 100,000 groups: " << taken.count() << " s");
}

}  // namespace
}  // namespace kgen
