#include <doctest/doctest.h>

#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

std::size_t count_role(const Graph& graph, OpRole role) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes) count += node.op && node.op->role == role;
  return count;
}

}  // namespace

TEST_CASE("f(cast(x)) -> f(x): a widening cast is part of the load") {
  Fixture f;
  const Module module = f.prepare(R"(
graph: g
dims: {M: 1..8}
inputs: {x: "bf16[M, 32]", w: "bf16[16, 32]"}
nodes: [{op: linear, in: [x, w], out: y}]
outputs: [y]
)");
  REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  // What is left is the cast back to bf16, which the epilogue takes.
  CHECK(count_role(module.main, OpRole::cast) == 1);
}

TEST_CASE("a kernel reads what a widening cast reads only where its condition holds of that too") {
  const auto casts_left = [](const std::string& operands, const std::string& kernels) {
    Fixture f("", kernels);
    const Module module = f.prepare("graph: g\ninputs: {x: \"bf16[32, 32]\", w: \"f32[32, 32]\"}\nnodes:\n"
                                    "  - {op: cast, in: x, out: wide, to: f32}\n  - {op: matmul, in: " +
                                    operands + ", out: y}\noutputs: [y]\n");
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    return count_role(module.main, OpRole::cast);
  };
  const std::string own = R"(kernels:
- kernel: mine::product
  header: my/product.hpp
  operator: matmul
  kind: structured
  when: T == f32
  operands: [{name: a, rank: 2, types: float, accepts: source}, {name: b, rank: 2, types: float, accepts: source}]
  results: [{name: c, rank: 2, accepts: sink}]
)";
  CHECK(casts_left("[wide, w]", "") == 0);
  CHECK(casts_left("[wide, w]", own) == 1);
  CHECK(casts_left("[w, wide]", own) == 1);
}

TEST_CASE("a kernel that reads an operand from memory alone takes floats of 8 bits for the same ones of 16") {
  const auto casts_left = [](const std::string& types, const std::string& accepts) {
    Fixture f("", R"(kernels:
- kernel: mine::attention
  header: my/attention.hpp
  operator: attention
  kind: structured
  operands:
  - {name: q, rank: 4, types: float, accepts: source}
  - {name: k, rank: 4, types: )" + types + ", accepts: " + accepts + R"(}
  - {name: v, rank: 4, types: )" + types + ", accepts: " + accepts + R"(}
  - {name: mask, rank: 4, types: float, accepts: view, optional: true}
  - {name: lengths, rank: 1, types: [i32, i64], accepts: view, optional: true}
  results: [{name: out, rank: 4, accepts: sink}]
  attributes: [{name: scale, type: double}, {name: causal, type: bool}]
)");
    const Module module = f.prepare(R"(
graph: g
inputs: {q: "bf16[1, 1, 4, 64]", k: "f8e4m3[1, 9, 2, 64]", v: "f8e4m3[1, 9, 2, 64]"}
nodes:
- {op: cast, in: k, out: keys, to: bf16}
- {op: cast, in: v, out: values, to: bf16}
- {op: attention, in: [q, keys, values], out: y}
outputs: [y]
)");
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    return count_role(module.main, OpRole::cast);
  };
  CHECK(casts_left("[bf16, f8e4m3]", "view") == 0);
  CHECK(casts_left("[bf16]", "view") == 2);
  CHECK(casts_left("[bf16, f8e4m3]", "source") == 2);  // it takes the casts, and what is ahead of them
}

TEST_CASE("on a CPU what a kernel unpacks at each call lies as it walks it") {
  const auto copies = [](const std::string& codes, const std::string& scales, const std::string& target) {
    Fixture f;
    const Module module = f.prepare("graph: g\ndims: {M: 1..8}\n" + target +
                                    "inputs: {x: \"f32[M, 512]\"}\nconstants:\n  q: {type: \"" + codes +
                                    "\", file: w.safetensors, key: q}\n  s: {type: \"" + scales +
                                    "\", file: w.safetensors, key: s}\n" + R"(nodes:
- {op: cast, in: q, out: codes, to: f32}
- {op: sub, in: [codes, 8], out: steps}
- {op: mul, in: [steps, s], out: groups}
- {op: reshape, in: groups, out: rows, shape: [256, 512]}
- {op: linear, in: [x, rows], out: y}
outputs: [y]
)");
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    return count_role(module.main, OpRole::copy);
  };
  CHECK(copies("u4[256, 16, 32]", "f32[256, 16, 1]", "") == 2);
  CHECK(copies("u4[256, 16, 32]", "f32[]", "") == 1);
  CHECK(copies("u8[256, 16, 32]", "f32[256, 16, 1]", "") == 0);  // made once, at load, and packed then
}

TEST_CASE("parts of a concat that nothing here makes are copied; what a node makes is written in place") {
  Fixture f;
  const Module module = f.prepare(R"(
graph: g
inputs: {a: "f32[4]", b: "f32[4]"}
nodes:
  - {op: exp, in: b, out: e}
  - {op: concat, in: [a, e], out: y, axis: 0}
outputs: [y]
)");
  CHECK(count_role(module.main, OpRole::copy) == 1);
}

TEST_CASE("a part whose kernel cannot walk it where it would lie is copied there") {
  Fixture f;
  const auto copies = [&](const std::string& shape, int axis) {
    const Module module = f.prepare("graph: g\ninputs: {x: \"f32[" + shape + R"(, 4]", w: "f32[4, 5]"}
nodes:
  - {op: matmul, in: [x, w], out: y}
  - {op: exp, in: y, out: e}
  - {op: concat, in: [y, e], out: c, axis: )" + std::to_string(axis) + "}\noutputs: [c]\n");
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    return count_role(module.main, OpRole::copy);
  };
  CHECK(copies("3, 2", 1) == 1);  // the rows of one matrix follow each other, those of the next are further on
  CHECK(copies("1, 2", 1) == 0);
  CHECK(copies("3, 1", 1) == 0);
  CHECK(copies("3, 2", 0) == 0);
  CHECK(copies("3, 2", 2) == 0);
  CHECK(copies("3", 0) == 0);
}

TEST_CASE("a kernel's result that updates a state is copied there where its rows do not follow each other") {
  Fixture f;
  const Module module = f.prepare(R"(
graph: g
dims: {B: 1..4, S: 1..8, P: {range: 0..24, from: position}}
inputs: {x: "f32[B, S, 4]", z: "f32[S, 6, 4]", w: "f32[4, 5]", position: "i64[]"}
state: {cache: {type: "f32[B, 32, 5]", next: all}, log: {type: "f32[32, 6, 5]", next: logged}}
nodes:
  - {op: matmul, in: [x, w], out: keys}
  - {op: index_update, in: [cache, keys], out: all, axis: 1, begin: P}
  - {op: matmul, in: [z, w], out: lines}
  - {op: index_update, in: [log, lines], out: logged, axis: 0, begin: P}
  - {op: sum, in: all, out: total, axes: [1]}
outputs: [total]
)");
  REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  CHECK(count_role(module.main, OpRole::copy) == 1);
  CHECK(module.main.value(value_named(module.main, "keys_copy")).kind == ValueKind::result);
}

TEST_CASE("what only a view reads, which is an output or a part, is written through the view") {
  Fixture f;
  const auto copies = [&](const std::string& views, const std::string& more = "") {
    const Module module = f.prepare(R"(
graph: g
inputs: {x: "f32[6, 4]", w: "f32[4, 5]", row: "f32[1, 3]"}
nodes:
  - {op: matmul, in: [x, w], out: m}
)" + views + "outputs: [y" + more + "]\n");
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    return count_role(module.main, OpRole::copy);
  };
  CHECK(copies("  - {op: reshape, in: m, out: y, shape: [2, 15]}\n") == 0);
  CHECK(copies("  - {op: flip, in: m, out: y, axis: 0}\n") == 0);
  CHECK(copies("  - {op: flip, in: m, out: y, axis: 1}\n") == 0);
  CHECK(copies("  - {op: relu, in: m, out: r}\n  - {op: reshape, in: r, out: y, shape: [30]}\n") == 0);
  CHECK(copies("  - {op: unsqueeze, in: m, out: u, axis: 1}\n  - {op: flip, in: u, out: y, axis: 2}\n") == 0);
  CHECK(copies("  - {op: unsqueeze, in: m, out: u, axis: 1}\n  - {op: transpose, in: u, out: y, perm: [1, 0, 2]}\n") == 0);
  // Into a part.
  CHECK(copies("  - {op: reshape, in: m, out: r, shape: [10, 3]}\n"
               "  - {op: exp, in: row, out: e}\n  - {op: concat, in: [r, e], out: y, axis: 0}\n") == 0);
  // A slice has not room for all of it; transposed, it would be stored one element at a time; a reshape of what lies
  // transposed is no view; another reader wants it as it was.
  CHECK(copies("  - {op: slice, in: m, out: y, axis: 0, begin: 1, end: 3}\n") == 1);
  CHECK(copies("  - {op: transpose, in: m, out: y, perm: [1, 0]}\n") == 1);
  CHECK(copies("  - {op: unsqueeze, in: m, out: y, axis: 1}\n") == 1);  // rides with what is copied, where that is a loop
  CHECK(copies("  - {op: reshape, in: m, out: r, shape: [2, 3, 5]}\n"
               "  - {op: transpose, in: r, out: y, perm: [1, 0, 2]}\n") == 1);
  CHECK(copies("  - {op: flip, in: m, out: y, axis: 0}\n  - {op: softmax, in: m, out: s}\n", ", s") == 1);
}

TEST_CASE("what every call broadcasts is broadcast in the function, and not written out for it") {
  Fixture f;
  const auto planned = [&](const std::string& second) {
    const Module module = f.prepare(R"(
graph: g
dims: {B: 1..8, S: 1..64}
inputs: {x: "f32[B, 4, S, S]", mask: "f32[B, 1, 1, S]", other: "f32[S]"}
functions:
  layer:
    inputs: {h: "f32[B, 4, S, S]", m: "f32[B, 4, S, S]"}
    nodes:
      - {op: add, in: [h, m], out: masked}
      - {op: softmax, in: masked, out: out}
    outputs: [out]
nodes:
  - {op: broadcast_to, in: mask, out: whole, shape: [B, 4, S, S]}
  - {op: broadcast_to, in: other, out: another, shape: [B, 4, S, S]}
  - {call: layer, in: [x, whole], out: once, repeat: 3}
  - {call: layer, in: [once, )" + second + R"(], out: y}
outputs: [y]
)");
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    for (const WrittenCopy& copy : module.main.copies) {
      CHECK(copy.function == 0);
      CHECK(copy.reason.starts_with("a function reads dense memory, and '"));
    }
    CHECK(count_role(module.main, OpRole::copy) == static_cast<int>(module.main.copies.size()));
    return to_text(module.functions[0].type(module.functions[0].inputs[1].value)) + ", " +
           std::to_string(count_role(module.main, OpRole::copy)) + " copies";
  };
  CHECK(planned("whole") == "f32[B, 1, 1, S], 0 copies");
  CHECK(planned("another") == "f32[B, 4, S, S], 2 copies");  // they do not agree
  CHECK(planned("once") == "f32[B, 4, S, S], 1 copies");
}

TEST_CASE("an output that is a view, an input or an output twice is copied") {
  Fixture f;
  const Module module = f.prepare(R"(
graph: g
inputs: {a: "f32[4, 3]"}
nodes: [{op: transpose, in: a, out: t, perm: [1, 0]}]
outputs: {turned: t, same: a, again: a}
)");
  CHECK(count_role(module.main, OpRole::copy) == 3);
  CHECK(output_name(module.main, 0) == "turned");
  CHECK(output_name(module.main, 2) == "again");
}

TEST_CASE("a state that is read beside its update is an error that says what to do") {
  Fixture f;
  f.prepare(R"(
graph: g
inputs: {part: "f32[1, 4]"}
state: {cache: {type: "f32[8, 4]", next: all}}
nodes:
  - {op: index_update, in: [cache, part], out: all, axis: 0, begin: 2}
  - {op: sum, in: cache, out: before, axes: [0]}
outputs: [before]
)");
  CHECK(f.diagnostics.text(false) ==
        "graph.yaml:7:10: error: 'cache' is read here, but its buffer is updated in place\n"
        "    7 |   - {op: sum, in: cache, out: before, axes: [0]}\n"
        "      |          ^\n"
        "graph.yaml:6:10: note: updated here, as 'all'\n"
        "    6 |   - {op: index_update, in: [cache, part], out: all, axis: 0, begin: 2}\n"
        "      |          ^\n"
        "help: read 'all', or copy what must be kept before the update\n");
}

TEST_CASE("a version of a state that is updated again is no output, nor the next value of another state") {
  Fixture f;
  f.prepare(R"(
graph: g
inputs: {part: "f32[1, 4]"}
state: {cache: {type: "f32[8, 4]", next: all}, kept: {type: "f32[8, 4]", next: some}}
nodes:
  - {op: index_update, in: [cache, part], out: some, axis: 0, begin: 2}
  - {op: index_update, in: [some, part], out: all, axis: 0, begin: 3}
outputs: [some]
)");
  REQUIRE(f.diagnostics.all().size() == 2);
  CHECK(f.diagnostics.all()[0].message == "'some' is an output, but its buffer is updated in place here");
  CHECK(f.diagnostics.all()[0].where.line == 7);
  CHECK(f.diagnostics.all()[1].message ==
        "'some' is the next value of the state 'kept', but its buffer is updated in place here");
}

TEST_CASE("a kernel that updates states writes into their buffers, and nothing may read what they were") {
  const auto messages = [](const std::string& nodes, const std::string& outputs) {
    Fixture f;
    f.prepare(
        "graph: g\ninputs: {part: \"f32[2, 8, 3, 4]\", slots: \"i64[2, 8]\"}\nstate:\n"
        "  k: {type: \"f32[2, 9, 3, 4]\", next: all_k}\n  v: {type: \"f32[2, 9, 3, 4]\", next: all_v}\nnodes:\n" +
        nodes + "outputs: [" + outputs + "]\n");
    return f.diagnostics.text(false);
  };
  const std::string update = "  - {op: cache_update, in: [k, v, part, part, slots], out: [all_k, all_v]}\n";
  CHECK(messages(update + "  - {op: sum, in: all_v, out: total, axes: [0]}\n", "total").empty());
  CHECK(messages(update + "  - {op: sum, in: v, out: total, axes: [0]}\n", "total") ==
        "graph.yaml:8:10: error: 'v' is read here, but its buffer is updated in place\n"
        "    8 |   - {op: sum, in: v, out: total, axes: [0]}\n"
        "      |          ^\n"
        "graph.yaml:7:10: note: updated here, as 'all_v'\n"
        "    7 |   - {op: cache_update, in: [k, v, part, part, slots], out: [all_k, all_v]}\n"
        "      |          ^\n"
        "help: read 'all_v', or copy what must be kept before the update\n");
  CHECK(messages("  - {op: cache_update, in: [k, v, part, part, slots], out: [a, b]}\n" + update, "a")
            .starts_with("graph.yaml:8:10: error: 'k' is updated twice\n"));
  CHECK(messages("  - {op: slice, in: k, out: first, axis: 1, begin: 0, end: 8}\n"
                 "  - {op: cache_update, in: [k, v, first, part, slots], out: [all_k, all_v]}\n",
                 "all_v")
            .starts_with("graph.yaml:7:10: error: 'k' is read here, but its buffer is updated in place\n"));
}

TEST_CASE("an update that is not the state's next value is an error") {
  Fixture f;
  f.prepare(R"(
graph: g
inputs: {part: "f32[1, 4]"}
state: {cache: {type: "f32[8, 4]"}}
nodes:
  - {op: index_update, in: [cache, part], out: all, axis: 0, begin: 2}
  - {op: sum, in: all, out: total, axes: [0]}
outputs: [total]
)");
  REQUIRE(f.diagnostics.has_errors());
  CHECK(f.diagnostics.all()[0].message == "the state 'cache' is updated in place, but its `next` is not 'all'");
}

TEST_CASE("an update of what is no state makes a tensor of its own, of what it keeps and what it brings") {
  Fixture f;
  const Module module = f.prepare(R"(
graph: g
dims: {P: {range: 0..6, from: position}}
inputs: {x: "f32[8, 4]", part: "f32[2, 4]", position: "i64[]"}
nodes:
  - {op: exp, in: part, out: grown}
  - {op: index_update, in: [x, grown], out: middle, axis: 0, begin: P}
  - {op: index_update, in: [x, part], out: start, axis: 0, begin: 0}
  - {op: index_update, in: [start, part], out: ends, axis: 0, begin: -2}
outputs: [middle, ends]
)");
  REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  const auto parts_of = [&](const std::string& name) {
    std::string parts;
    const Graph& graph = module.main;
    for (const ValueId part : graph.nodes[graph.value(value_named(graph, name)).producer].inputs) {
      parts += graph.value(part).name + " " + to_text(graph.type(part)) + "; ";
    }
    return parts;
  };
  CHECK(parts_of("middle") == "x_before_copy f32[P, 4]; grown f32[2, 4]; x_after_copy f32[6 - P, 4]; ");
  CHECK(parts_of("start") == "part_copy f32[2, 4]; x_after_2_copy f32[6, 4]; ");
  CHECK(parts_of("ends") == "start_before_copy f32[6, 4]; part_copy_2 f32[2, 4]; ");
}
