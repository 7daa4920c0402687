// Prologues and epilogues behind reshapes: what fuses, what does not, and why.
#include <doctest/doctest.h>

#include "generator/pass/graph/regroup.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

const Dim B = Dim::symbol("B"), S = Dim::symbol("S"), G = Dim::symbol("G"), E = Dim::symbol("E");

std::string text(const std::optional<Regrouping>& found) {
  if (!found) return "none";
  std::string runs;
  for (const int run : found->runs) runs += " " + std::to_string(run);
  return to_text(found->split) + runs;
}

// A graph of a matmul from [B, S, D] to q [B, S, 48] with `nodes` behind it.
std::string after_matmul(const std::string& nodes, const std::string& outputs, const std::string& more = "") {
  return R"(
graph: g
dims: {B: 1..4, S: 1..64, H: 1..8}
inputs: {x: "f32[B, S, 32]", w: "f32[32, 48]", bias: "f32[48]", scale: "f32[8]", of_head: "f32[6, 1]",
         turned: "f32[B, 48, S]", table: "f32[5, 8]", at: "i64[B, S, 6, 8]"}
)" + more +
         "nodes:\n  - {op: matmul, in: [x, w], out: q}\n" + nodes + "outputs: [" + outputs + "]\n";
}

}  // namespace

TEST_CASE("regroup: a loop falls into runs of the axes that a kernel walks") {
  CHECK(text(regroup({B, S, G * E}, 2, {B, S, G, E})) == "[B, S, G, E] 2 2");
  CHECK(text(regroup({B, S, G * E}, 2, {B, S, G * E})) == "[B, S, E*G] 2 1");
  CHECK(text(regroup({B, S, G * E}, 2, {B * S, G, E})) == "[B*S, G, E] 1 2");
  CHECK(text(regroup({B, S, G * E}, 2, {S, B, 1, G * E})) == "[S, B, 1, E*G] 3 1");
  CHECK(text(regroup({B, S, 1}, 2, {B, S})) == "[B, S, 1] 2 1");
  CHECK(text(regroup({B, S, 12}, 2, {1, B, 1, S, 3, 1, 4})) == "[1, B, 1, S, 3, 1, 4] 4 3");
  // An axis that spans several of the kernel's is cut as those are.
  CHECK(text(regroup({B, S, 6, 8}, 4, {B, S, 48})) == "[B, S, 6, 8] 1 1 1 1");
  CHECK(text(regroup({B, S, 6, 8}, -1, {B * S, 48})) == "[B, S, 6, 8] 1 1 1 1");
  CHECK(text(regroup({B, S, 6, 8}, 2, {B, S, 48})) == "[B, S, 6, 8] 3 1");
  // Axes that reach across bounds.
  CHECK(text(regroup({B, S, 12}, 2, {B, S * 3, 4})) == "none");
  CHECK(text(regroup({6, 4}, 2, {3, 8})) == "none");
  CHECK(text(regroup({6, 4}, 2, {4, 6})) == "none");
  CHECK(text(regroup({B, 12}, 2, {B, 3, 3})) == "none");
  CHECK(text(regroup({B, 0, 4}, 2, {B, 0, 4})) == "[B, 0, 4] 2 1");
  CHECK(text(regroup({}, -1, {})) == "[]");
  CHECK(text(regroup({4}, 2, {4})) == "[4] 1");
  CHECK(text(regroup({4}, 2, {2, 2})) == "none");
}

TEST_CASE("walk_runs: axes merge as far as strides let them, and the rest is walked in runs") {
  const auto walk = [](const Shape& walked, const Shape& loop, const Strides& strides) {
    const RunWalk found = walk_runs(*regroup(walked, 2, loop), strides);
    std::string text;
    for (const auto& [first, last] : found.merges) text += std::to_string(first) + "-" + std::to_string(last) + " ";
    for (const int run : found.runs) text += std::to_string(run);
    return text;
  };
  const Shape heads{B, S, 6, 8};
  CHECK(walk({B, S, 48}, heads, dense_strides(heads)) == "2-3 0-1 ");
  CHECK(walk({B, S, 48}, heads, {Dim(1000), Dim(48), Dim(8), Dim(1)}) == "2-3 21");  // a slice of a cache
  CHECK(walk({B, S, 48}, heads, {Dim(0), Dim(0), Dim(0), Dim(1)}) == "0-1 12");      // a scale of each channel
  CHECK(walk({B, S, 48}, heads, {Dim(0), Dim(8), Dim(500), Dim(1)}) == "22");        // nothing merges
  CHECK(walk({B, S, 48}, {B, S, 48}, {S * Dim(96), Dim(96), Dim(1)}) == "0-1 ");
}

TEST_CASE("an epilogue sees through reshapes that only regroup what the kernel walks") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(after_matmul(R"(
  - {op: add, in: [q, bias], out: biased}
  - {op: reshape, in: biased, out: heads, shape: [B, S, 6, 8]}
  - {op: mul, in: [heads, scale], out: scaled}
  - {op: unsqueeze, in: scaled, out: wide, axis: 2}
  - {op: add, in: [wide, scale], out: shifted}
  - {op: reshape, in: shifted, out: flat, shape: [B, S, 48]}
  - {op: mul, in: [flat, bias], out: y}
)",
                                                    "y"));
  REQUIRE(fused.groups.size() == 1);
  CHECK(reason(fused, "biased", "wide") == "the epilogue of kgen::matmul takes it");
  CHECK(reason(fused, "shifted", "y") == "the epilogue of kgen::matmul takes it");
  CHECK(fused.groups[0].outputs == std::vector<ValueId>{value_named(fused.graph, "y")});
  CHECK(fused.groups[0].inputs.size() == 4);  // x, w, bias, scale
}

TEST_CASE("an epilogue writes heads into a cache") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {B: 1..4, S: 1..64, P: {range: 0..100, from: position}}
inputs: {x: "f32[B, S, 32]", w: "f32[32, 48]", position: "i64[]"}
state: {cache: {type: "f32[B, 200, 6, 8]", next: all}}
nodes:
  - {op: matmul, in: [x, w], out: v}
  - {op: reshape, in: v, out: heads, shape: [B, S, 6, 8]}
  - {op: index_update, in: [cache, heads], out: all, axis: 1, begin: P}
  - {op: sum, in: all, out: total, axes: [1, 2, 3]}
outputs: [total]
)");
  CHECK(together(fused, "v", "heads_copy"));
  CHECK(reason(fused, "v", "heads_copy") == "the epilogue of kgen::matmul takes it");
}

TEST_CASE("no epilogue takes what a reshape moves across the axes that the kernel walks") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 6, 32]", w: "f32[32, 8]", wide: "f32[M, 48]", scale: "f32[48]"}
nodes:
  - {op: matmul, in: [x, w], out: q}
  - {op: reshape, in: q, out: lines, shape: [M, 2, 24]}
  - {op: relu, in: lines, out: r}
  - {op: reshape, in: q, out: rows, shape: [M, 48]}
  - {op: mul, in: [rows, scale], out: s}
outputs: [r, s]
)");
  CHECK(reason(fused, "q", "r") ==
        "kgen::matmul walks [M, 6, 8], whose axes do not fall together with those of [M, 2, 24]");
  CHECK(together(fused, "q", "s"));  // the rows of one axis after the other
}

TEST_CASE("what an epilogue reads across lines of memory stays apart, and so does what only rows can compute") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(after_matmul(R"(
  - {op: transpose, in: turned, out: t, perm: [0, 2, 1]}
  - {op: add, in: [q, t], out: sum}
  - {op: reshape, in: sum, out: heads, shape: [B, S, 6, 8]}
  - {op: softmax, in: heads, out: y}
)",
                                                    "y"));
  CHECK(reason(fused, "q", "sum") ==
        "the epilogue of kgen::matmul would read 't' element by element, across its lines in memory");
  Fixture g;
  const FusedGraph rows = g.fuse_main(after_matmul(R"(
  - {op: reshape, in: q, out: heads, shape: [B, S, 6, 8]}
  - {op: sum, in: heads, out: total, axes: [3]}
  - {op: mul, in: [heads, of_head], out: each}
  - {op: gather, in: [table, at], out: found, axis: 0}
)",
                                                   "total, each", ""));
  CHECK(reason(rows, "q", "total") == "an epilogue sees tiles, not whole rows: a reduction cannot ride in it");
  CHECK(together(rows, "q", "each"));
}

TEST_CASE("an epilogue knows the sizes of what it computes") {
  const std::string text = R"(
graph: g
dims: {M: 1..64, H: 1..8, C: 1..16}
inputs: {x: "f32[M, 32]", w: "f32[32, H*C]", scale: "f32[C]", heads: "f32[H]"}
nodes:
  - {op: matmul, in: [x, w], out: q}
  - {op: reshape, in: q, out: q_heads, shape: [M, H, C]}
  - {op: mul, in: [q_heads, scale], out: scaled}
  - {op: reshape, in: scaled, out: flat, shape: [M, H*C]}
  - {op: exp, in: flat, out: y}
outputs: [y]
)";
  Fixture f;
  const FusedGraph fused = f.fuse_main(text);
  CHECK(together(fused, "q", "scaled"));
  CHECK(reason(fused, "scaled", "y") == "nothing that the stub reads or writes has the extent H of [M, H, C]");
  std::string kept = text;
  kept.replace(kept.find("outputs: [y]"), 12, "outputs: [y, scaled]");
  Fixture g;
  CHECK(together(g.fuse_main(kept), "scaled", "y"));
}

TEST_CASE("a prologue sees through reshapes, and reads what does not merge") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {B: 1..4, S: 1..64}
inputs: {x: "f32[B, S, 6, 8]", cache: "f32[B, 100, 48]", w: "f32[48, 5]", turned: "f32[B, 48, S]", v: "f32[6, 8, 5]",
         s: "f32[8]", f: "f32[8, 1]"}
nodes:
  - {op: mul, in: [x, s], out: r}
  - {op: reshape, in: r, out: flat, shape: [B, S, 48]}
  - {op: matmul, in: [flat, w], out: y}
  - {op: slice, in: cache, out: rows, axis: 1, begin: 3, end: 90}
  - {op: tanh, in: rows, out: t}
  - {op: mul, in: [v, f], out: e}
  - {op: reshape, in: e, out: weight, shape: [48, 5]}
  - {op: matmul, in: [t, weight], out: z}
  - {op: transpose, in: turned, out: across, perm: [0, 2, 1]}
  - {op: exp, in: across, out: slow}
  - {op: matmul, in: [slow, w], out: u}
outputs: [y, z, u]
)");
  CHECK(reason(fused, "r", "y") == "a prologue of kgen::matmul takes it");
  CHECK(together(fused, "t", "z"));
  CHECK(together(fused, "e", "z"));
  CHECK(reason(fused, "slow", "u") ==
        "a prologue of kgen::matmul would read 'across' element by element, across its lines in memory");
}

TEST_CASE("a loop whose result others read through a reshape stays in memory") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 6, 8]", w: "f32[48, 5]", u: "f32[M, 48]", s: "f32[8]"}
nodes:
  - {op: mul, in: [x, s], out: r}
  - {op: reshape, in: r, out: flat, shape: [M, 48]}
  - {op: matmul, in: [flat, w], out: y}
  - {op: add, in: [flat, u], out: z}
  - {op: mul, in: [z, u], out: t}
outputs: [y, t]
)");
  CHECK_FALSE(together(fused, "r", "y"));
  CHECK(reason(fused, "r", "y") == "'r' is read elsewhere too, so it goes through memory anyway");
  CHECK_FALSE(together(fused, "r", "z"));
  CHECK(reason(fused, "r", "z") == "it is read through a view (reshape), in place from memory");
}

TEST_CASE("no group comes to depend on itself through a reshape") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 32]", w: "f32[32, 48]", v: "f32[48, 48]"}
nodes:
  - {op: matmul, in: [x, w], out: q}
  - {op: reshape, in: q, out: heads, shape: [M, 6, 8]}
  - {op: softmax, in: heads, out: p}
  - {op: reshape, in: p, out: flat, shape: [M, 48]}
  - {op: matmul, in: [flat, v], out: n}
  - {op: reshape, in: n, out: again, shape: [M, 6, 8]}
  - {op: add, in: [heads, again], out: y}
  - {op: exp, in: heads, out: e}
  - {op: sub, in: [q, flat], out: d}
outputs: [y, e, d]
)");
  CHECK(together(fused, "n", "y"));
  CHECK_FALSE(together(fused, "q", "y"));
  CHECK_FALSE(together(fused, "q", "d"));
  // Groups stand in an order in which they can run.
  const FusedGraph ordered = schedule(fused);
  for (std::uint32_t id = 0; id < ordered.groups.size(); ++id) {
    for (const ValueId input : ordered.groups[id].inputs) {
      const Value& value = ordered.graph.value(input);
      const bool made = value.kind == ValueKind::result && ordered.group_of[value.producer] != no_id;
      if (made) CHECK(ordered.group_of[value.producer] < id);
    }
  }
}
