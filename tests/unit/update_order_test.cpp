// Updates of one state that follow each other: who writes first where they meet, and where a copy has to.
#include <doctest/doctest.h>

#include "generator/pass/graph/update_order.hpp"
#include "tests/unit/plan_builder.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// A graph over x [2, 4], w [4, 4] and a position P from 0 to 4, whose state of 8 rows becomes `all`.
std::string graph_of(const std::string& nodes, const std::string& outputs) {
  return R"(
graph: g
dims: {P: {range: 0..4, from: position}}
inputs: {x: "f32[2, 4]", w: "f32[4, 4]", position: "i64[]"}
state: {s: {type: "f32[8, 4]", next: all}}
nodes:
)" + nodes +
         "outputs: [" + outputs + "]\n";
}

std::string update(const std::string& of, const std::string& part, const std::string& begin, const std::string& out) {
  return "  - {op: index_update, in: [" + of + ", " + part + "], out: " + out + ", axis: 0, begin: " + begin + "}\n";
}

// The values that are written into the state, in the order in which their groups run; those of one group in brackets.
std::string writes(const std::string& nodes, const std::string& outputs = "y") {
  Fixture f;
  const FusedGraph fused = schedule(f.fuse_main(graph_of(nodes, outputs)));
  std::string text;
  for (const Group& group : fused.groups) {
    std::string made;
    for (const ValueId output : group.outputs) {
      for (const Node& node : fused.graph.nodes) {
        const auto* view = std::get_if<IndexMap>(&node.kind);
        const bool is_part = view && view->form == ViewRule::Form::update && node.inputs[1] == output;
        if (is_part) made += (made.empty() ? "" : " ") + fused.graph.value(output).name;
      }
    }
    if (!made.empty()) text += "(" + made + ")";
  }
  return text;
}

const std::string relu_exp = "  - {op: relu, in: x, out: a}\n  - {op: exp, in: x, out: b}\n";
const std::string sum = "  - {op: sum, in: all, out: y, axes: [1]}\n";

}  // namespace

TEST_CASE("updates that are apart for all sizes are written by one stub, others one behind the other") {
  const auto both = [](const std::string& first, const std::string& second) {
    return writes(relu_exp + update("s", "a", first, "some") + update("some", "b", second, "all") + sum);
  };
  CHECK(both("0", "2") == "(a b)");
  CHECK(both("2", "0") == "(a b)");
  CHECK(both("P", "6") == "(a b)");
  CHECK(both("P", "P + 2") == "(a b)");
  CHECK(both("0", "1") == "(a)(b)");
  CHECK(both("1", "0") == "(a)(b)");
  CHECK(both("3", "3") == "(a)(b)");
  CHECK(both("P", "5") == "(a)(b)");
  CHECK(both("P", "0") == "(a)(b)");
}

TEST_CASE("updates along different axes of one state may meet") {
  PlanBuilder b;
  b.input("x", {2, 4}).input("z", {8, 2}).state("cache", {8, 4}).elementwise("rows", {"x"}).elementwise("columns", {"z"});
  b.update(0, 0, "once", "cache", "rows").update(1, 2, "twice", "once", "columns");
  const Graph& graph = b.fused().graph;
  CHECK(!provably_apart(graph, *update_making(graph, b.id("once")), *update_making(graph, b.id("twice")), {}));
}

TEST_CASE("a third update joins the first in a stub only with the second") {
  const std::string three = relu_exp + "  - {op: neg, in: x, out: c}\n";
  const auto written = [&](const std::string& second) {
    return writes(three + update("s", "a", "0", "one") + update("one", "b", second, "two") +
                  update("two", "c", "5", "all") + sum);
  };
  CHECK(written("2") == "(a b c)");
  CHECK(written("1") == "(a)(b c)");
  CHECK(written("4") == "(a b)(c)");
}

TEST_CASE("what a later update brings is made behind the earlier one, wherever it stands in the file") {
  CHECK(writes("  - {op: matmul, in: [x, w], out: late}\n  - {op: relu, in: x, out: early}\n" +
               update("s", "early", "0", "some") + update("some", "late", "1", "all") + sum) == "(early)(late)");
}

TEST_CASE("what an earlier update needs goes into a later one that meets it by a copy") {
  const std::string chain = "  - {op: matmul, in: [x, w], out: a}\n  - {op: matmul, in: [a, w], out: b}\n";
  CHECK(writes(chain + update("s", "b", "0", "some") + update("some", "a", "1", "all") + sum) == "(b)(a_copy)");
}

TEST_CASE("what something else reads, too, goes by a copy into an update that a later one may write over") {
  const auto written = [](const std::string& second) {
    return writes("  - {op: matmul, in: [x, w], out: a}\n  - {op: exp, in: x, out: b}\n" + update("s", "a", "0", "some") +
                      update("some", "b", second, "all") + "  - {op: matmul, in: [a, w], out: y}\n",
                  "y");
  };
  CHECK(written("1") == "(a_copy)(b)");
  CHECK(written("P") == "(a_copy)(b)");
  CHECK(written("P + 2") == "(a)(b)");
}
