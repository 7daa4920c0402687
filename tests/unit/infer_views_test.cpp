// Views: what each form resolves to, and what is left for the run to check.
#include "tests/unit/infer_fixture.hpp"

namespace kgen {
namespace {

using test::infer_good;
using test::Inferred;

const IndexMap& view_of(const Inferred& graph, std::string_view result) {
  return std::get<IndexMap>(graph.node(result).kind);
}

TEST_CASE("transpose, reshape, broadcast_to") {
  const auto graph = infer_good(R"(
graph: g
dims: {B: 1..8, S: 1..512}
inputs: {x: "f32[B, S, 64]", row: "f32[1, 64]", s: "f32[]"}
nodes:
- {op: transpose, in: x, out: t, perm: [-1, 0, 1]}
- {op: reshape, in: x, out: heads, shape: [B, S, 4, -1]}
- {op: reshape, in: x, out: flat, shape: [-1]}
- {op: reshape, in: x, out: tokens, shape: [B * S, 64]}
- {op: broadcast_to, in: row, out: wide, shape: [B, S, 64]}
- {op: broadcast_to, in: s, out: full, shape: [2, 0]}
- {op: reshape, in: s, out: vector, shape: [1]}
- {op: reshape, in: full, out: empty, shape: [-1, 5]}
outputs: [t, heads, flat, tokens, wide, full, vector, empty]
)");
  CHECK(graph.type("t") == "f32[64, B, S]");
  CHECK(view_of(graph, "t").axes == std::vector<int>{2, 0, 1});
  CHECK(graph.type("heads") == "f32[B, S, 4, 16]");
  CHECK(to_text(view_of(graph, "heads").shape) == "[B, S, 4, 16]");
  CHECK(graph.type("flat") == "f32[64*B*S]");
  CHECK(graph.type("tokens") == "f32[B*S, 64]");
  CHECK(graph.type("wide") == "f32[B, S, 64]");
  CHECK(view_of(graph, "wide").form == ViewRule::Form::broadcast);
  CHECK(graph.type("full") == "f32[2, 0]");
  CHECK(graph.type("vector") == "f32[1]");
  CHECK(graph.type("empty") == "f32[0, 5]");
  CHECK(graph.module.main.requirements.empty());
}

TEST_CASE("slice: whole by default, from the end where negative, stepped") {
  const auto graph = infer_good(R"(
graph: g
dims: {S: 4..512}
inputs: {x: "f32[10, S]"}
nodes:
- {op: slice, in: x, out: whole, axis: 0}
- {op: slice, in: x, out: last_three, axis: 0, begin: -3}
- {op: slice, in: x, out: but_last, axis: -1, end: -1}
- {op: slice, in: x, out: odd, axis: 0, begin: 1, step: 2}
- {op: slice, in: x, out: thirds, axis: 1, end: S - 1, step: 3}
- {op: slice, in: x, out: nothing, axis: 0, begin: 4, end: 4}
outputs: [whole, last_three, but_last, odd, thirds, nothing]
)");
  CHECK(graph.type("whole") == "f32[10, S]");
  CHECK(graph.type("last_three") == "f32[3, S]");
  CHECK(view_of(graph, "last_three").begin == Dim(7));
  CHECK(view_of(graph, "last_three").length == Dim(3));
  CHECK(graph.type("but_last") == "f32[10, S - 1]");
  CHECK(view_of(graph, "but_last").axis == 1);
  CHECK(graph.type("odd") == "f32[5, S]");
  CHECK(view_of(graph, "odd").step == 2);
  CHECK(view_of(graph, "thirds").length == Dim::floor_divide(Dim::symbol("S") + 1, 3));
  CHECK(graph.type("nothing") == "f32[0, S]");
  CHECK(graph.module.main.requirements.empty());
}

TEST_CASE("select, unsqueeze, squeeze, flip") {
  const auto graph = infer_good(R"(
graph: g
dims: {S: 1..512}
inputs: {x: "f32[3, S, 1]"}
nodes:
- {op: select, in: x, out: last, axis: 0, index: -1}
- {op: select, in: x, out: last_token, axis: 1, index: -1}
- {op: unsqueeze, in: x, out: u, axis: -1}
- {op: unsqueeze, in: x, out: front, axis: 0}
- {op: squeeze, in: x, out: s, axis: -1}
- {op: flip, in: x, out: f, axis: 1}
outputs: [last, last_token, u, front, s, f]
)");
  CHECK(graph.type("last") == "f32[S, 1]");
  CHECK(view_of(graph, "last").begin == Dim(2));
  CHECK(graph.type("last_token") == "f32[3, 1]");
  CHECK(view_of(graph, "last_token").begin == Dim::symbol("S") - 1);
  CHECK(graph.type("u") == "f32[3, S, 1, 1]");
  CHECK(view_of(graph, "u").axis == 3);
  CHECK(graph.type("front") == "f32[1, 3, S, 1]");
  CHECK(graph.type("s") == "f32[3, S]");
  CHECK(graph.type("f") == "f32[3, S, 1]");
  CHECK(graph.module.main.requirements.empty());
}

TEST_CASE("concat adds extents, index_update keeps those of the buffer") {
  const auto graph = infer_good(R"(
graph: g
dims: {S: 1..512}
inputs: {x: "f32[2, S]", y: "f32[2, 3]", cache: "f32[2, 1024]"}
nodes:
- {op: concat, in: [x, y, x], out: joined, axis: 1}
- {op: concat, in: [y], out: alone, axis: 0}
- {op: index_update, in: [cache, x], out: updated, axis: -1, begin: 512}
outputs: [joined, alone, updated]
)");
  CHECK(graph.type("joined") == "f32[2, 2*S + 3]");
  CHECK(graph.type("alone") == "f32[2, 3]");
  CHECK(graph.type("updated") == "f32[2, 1024]");
  CHECK(view_of(graph, "updated").axis == 1);
  CHECK(view_of(graph, "updated").begin == Dim(512));
  CHECK(graph.module.main.requirements.empty());
}

TEST_CASE("reshape: whether there are as many elements is for the run to tell where a dim is a number that callers give") {
  const auto graph = infer_good(R"(
graph: g
dims: {M: 1..64, A: {range: 0..64, from: sizes[0]}, B: {range: 1..64, from: sizes[1]}}
inputs: {x: "f32[M, 8]", sizes: i64[2]}
nodes:
  - {op: reshape, in: x, out: y, shape: [A, B]}
  - {op: reshape, in: x, out: z, shape: [A, -1]}
outputs: [y, z]
)");
  CHECK(graph.type("y") == "f32[A, B]");
  CHECK(graph.type("z") == "f32[A, 8*M/A]");
  std::string requirements;
  for (const DimRequirement& each : graph.module.main.requirements)
    requirements += each.left.text() + " <= " + each.right.text() + " " + each.meaning + "\n";
  CHECK(requirements ==
        "A*B <= 8*M y: [A, B] must have as many elements as x\n"
        "8*M <= A*B y: [A, B] must have as many elements as x\n"
        "1 <= A z: [A, -1] says what -1 stands for where the others are not 0\n"
        "(8*M/A)*A <= 8*M z: [A, 8*M/A] must have as many elements as x\n"
        "8*M <= (8*M/A)*A z: [A, 8*M/A] must have as many elements as x\n");
}

TEST_CASE("bad: sizes that callers give, and no memory could have") {
  CHECK(test::problems_of(R"(
graph: g
dims: {A: {from: sizes[0]}, B: {from: sizes[1]}}
inputs: {x: "f32[]", sizes: i64[2]}
nodes:
- {op: broadcast_to, in: x, out: y, shape: [A, B]}
outputs: [y]
)") ==
        "6: broadcast_to: 'y' ([A, B]) may have more than 2^60 elements\nhelp: give its dims smaller ranges");
}

TEST_CASE("what dims decide is checked by the run, and says which node asks for it") {
  const auto graph = infer_good(R"(
graph: g
dims: {S: 0..512, P: {range: 0..4095, from: position}}
inputs: {x: "f32[2, S]", position: "i64[]"}
state: {cache: {type: "f32[2, 4096]", next: all}}
nodes:
- {op: index_update, in: [cache, x], out: all, axis: 1, begin: P}
- {op: slice, in: all, out: seen, axis: 1, end: P + S}
- {op: slice, in: x, out: tail, axis: 1, begin: P}
- {op: select, in: x, out: first, axis: 1, index: 0}
outputs: [seen, first, tail]
)");
  CHECK(graph.type("seen") == "f32[2, P + S]");
  const auto& requirements = graph.module.main.requirements;
  REQUIRE(requirements.size() == 3);
  CHECK(requirements[0].left == Dim::symbol("P") + Dim::symbol("S"));
  CHECK(requirements[0].right == Dim(4096));
  CHECK(requirements[0].meaning == "all: the update must end within axis 1 of cache");
  CHECK(requirements[0].where.line == 7);
  CHECK(requirements[1].meaning == "tail: the slice must begin before its end");  // what `seen` needs is there already
  CHECK(requirements[2].left == Dim(1));
  CHECK(requirements[2].right == Dim::symbol("S"));
  CHECK(requirements[2].meaning == "first: the index must be within axis 1 of x");
}

}  // namespace
}  // namespace kgen
