#include "generator/pass/simplify/expand_updates.hpp"

#include <doctest/doctest.h>

#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {

// Rule: update(x, part, begin) -> concat(x[0, begin), part, x[begin + length, extent))
TEST_CASE("simplify: an update of what is no state is the concatenation of what it keeps and what it brings") {
  const auto of = [](const std::string& begin) {
    return simplified_text(R"(
dims: {P: {range: 0..6, from: position}}
inputs: {x: "f32[8, 4]", u: "f32[2, 4]", position: "i64[]"}
nodes:
- {op: index_update, in: [x, u], out: y, axis: 0, begin: )" +
                           begin + "}\noutputs: [y]\n");
  };
  CHECK(of("P") ==
        "x_before = slice(x, axis=0, begin=0, end=P, step=1)\nx_after = slice(x, axis=0, begin=P + 2, end=8, step=1)\n"
        "y = concat(x_before, u, x_after, axis=0)\n");
  CHECK(of("0") == "x_after = slice(x, axis=0, begin=2, end=8, step=1)\ny = concat(u, x_after, axis=0)\n");
  CHECK(of("-2") == "x_before = slice(x, axis=0, begin=0, end=6, step=1)\ny = concat(x_before, u, axis=0)\n");
}

// Rule: an update of a whole axis -> its update; what made the buffer is dead.
TEST_CASE("simplify: an update of a whole axis is its update") {
  const std::string nodes = R"(
inputs: {x: "f32[8]", u: "f32[8]"}
nodes:
- {op: relu, in: x, out: a}
- {op: index_update, in: [a, u], out: b, axis: 0}
- {op: exp, in: b, out: y}
)";
  CHECK(simplified_text(nodes + "outputs: [y]\n") == "y = exp(u)\n");
  CHECK(simplified_text(nodes + "outputs: [b]\n") == "b = copy(u)\n");
  // A name in a directive stays.
  CHECK(simplified_text(nodes + "outputs: [y]\nfusion: {forbid: [[b, y]]}\n") == "b = concat(u, axis=0)\ny = exp(b)\n");
}

TEST_CASE("simplify: an update of a state stays, whatever it covers") {
  CHECK(simplified_text(R"(
inputs: {u: "f32[8]"}
state: {s: {type: "f32[8]", next: t}}
nodes:
- {op: exp, in: u, out: e}
- {op: index_update, in: [s, e], out: t, axis: 0}
- {op: neg, in: t, out: y}
outputs: [y]
)") == "e = exp(u)\nt = index_update(s, e, axis=0, begin=0)\ny = neg(t)\n");
}

TEST_CASE("simplify: an update of what is no state needs operators for its parts") {
  OpSet ops;
  SourceMap sources;
  Diagnostics diagnostics;
  load_ops(sources.add("ops.yaml", R"(ops:
- op: put
  kind: view
  view: {form: update, axis: axis, begin: begin}
  types: {T: any}
  operands: {buffer: T, update: T}
  results: {out: T}
  attributes: {axis: {type: integer}, begin: {type: dim}}
)"),
           ops, diagnostics);
  auto module = load_graph(sources.add("g.yaml", R"(graph: g
inputs: {x: "f32[8]", u: "f32[2]"}
nodes: [{op: put, in: [x, u], out: y, axis: 0, begin: 1}]
outputs: [y]
)"),
                           ops, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.text(false));
  simplify(infer(std::move(*module), ops, diagnostics), ops, diagnostics);
  CHECK(diagnostics.text(false) ==
        "g.yaml:3:14: error: no operators make slices and concatenations, which this update needs\n"
        "    3 | nodes: [{op: put, in: [x, u], out: y, axis: 0, begin: 1}]\n"
        "      |              ^\n"
        "help: load specs with an operator of `view: {form: slice}` and one of `view: {form: concat}`\n");
}

}  // namespace kgen
