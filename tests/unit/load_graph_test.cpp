// The model that a good graph gives.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "generator/load/dim_text.hpp"
#include "tests/unit/load_fixture.hpp"

namespace kgen {
namespace {

// A module with the text it points into.
struct Loaded {
  explicit Loaded(std::string text) : source{"graphs/graph.yaml", std::move(text)} {
    Diagnostics diagnostics;
    module = load_graph(source, test_set(), diagnostics);
    REQUIRE_EQ(diagnostics.text(false), "");
    REQUIRE(module);
  }
  const Graph& main() const { return module->main; }

  SourceText source;
  std::optional<Module> module;
};

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> result;
  for (const ValueId id : ids) result.push_back(id == no_id ? "-" : graph.value(id).name);
  return result;
}

std::vector<std::string> value_names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Value& value : graph.values) result.push_back(value.name);
  return result;
}

const Value& value_named(const Graph& graph, std::string_view name) {
  for (const Value& value : graph.values) {
    if (value.name == name) return value;
  }
  FAIL("no such value: " << name);
  return graph.values[0];
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("load: a graph of two nodes") {
  const Loaded file(R"yaml(graph: add_relu
doc: An example.
dims: {M: 1..8192, N: 64}
inputs:
  x: bf16[M, N]
  bias: {type: bf16[N], strided: true}
nodes:
  - {op: relu, in: sum, out: y}
  - {op: add, in: [x, bias], out: sum}
outputs: [y]
)yaml");
  const Graph& graph = file.main();
  CHECK_EQ(file.module->file, "graphs/graph.yaml");
  CHECK_EQ(graph.name, "add_relu");
  CHECK_EQ(short_text(graph.where), "graph.yaml:1");
  REQUIRE_EQ(graph.dims.size(), 1);  // N is a number
  CHECK_EQ(graph.dims[0].name, "M");
  CHECK_EQ(graph.dims[0].range.low, 1);
  CHECK_EQ(graph.dims[0].range.high, 8192);
  CHECK_EQ(graph.dims[0].from, "");

  CHECK_EQ(value_names(graph), Names{"x", "bias", "y", "sum"});
  REQUIRE_EQ(graph.inputs.size(), 2);
  CHECK_FALSE(graph.inputs[0].strided);
  CHECK(graph.inputs[1].strided);
  CHECK_EQ(graph.value(1).kind, ValueKind::input);
  CHECK_EQ(graph.value(1).index, 1);
  CHECK_EQ(to_text(graph.type(0)), "bf16[M, 64]");
  CHECK_EQ(to_text(graph.type(1)), "bf16[64]");

  REQUIRE_EQ(graph.nodes.size(), 2);
  CHECK_EQ(graph.nodes[0].op, test_set().find("relu"));
  CHECK_EQ(names(graph, graph.nodes[0].inputs), Names{"sum"});
  CHECK_EQ(names(graph, graph.nodes[0].outputs), Names{"y"});
  CHECK_EQ(names(graph, graph.nodes[1].inputs), Names{"x", "bias"});
  CHECK(std::holds_alternative<std::monostate>(graph.nodes[0].kind));
  CHECK_EQ(short_text(graph.nodes[1].where), "graph.yaml:9");
  CHECK_EQ(graph.nodes[1].where.column, 10);
  CHECK_EQ(graph.value(3).producer, 1);
  CHECK_EQ(graph.value(3).kind, ValueKind::result);
  CHECK_FALSE(graph.value(3).type);
  CHECK_EQ(names(graph, graph.outputs), Names{"y"});
  CHECK_EQ(graph.output_names, Names{"y"});
  CHECK_EQ(graph.numerics, Numerics::fast);
}

TEST_CASE("load: attributes have the types of the operator's") {
  const Loaded file(R"yaml(graph: g
dims: {B: 1..8, S: 1..16}
inputs: {x: f32[B, S]}
nodes:
  - {op: sum, in: x, out: a, axes: [-1], keepdims: true}
  - {op: sum, in: x, out: b, axes: 0}
  - {op: cast, in: x, out: c, to: bf16}
  - {op: slice, in: x, out: d, axis: 1, begin: S - 1, end: 9223372036854775807}
  - {op: reshape, in: x, out: e, shape: [B*S, "(2 * B) / 2", -1]}
  - {op: attention, in: [x, x], out: f, scale: 2, mode: causal}
outputs: [a, b, c, d, e, f]
)yaml");
  const auto attribute = [&](std::size_t node, std::string_view name) {
    const AttributeValue* found = find_attribute(file.main().nodes[node].attributes, name);
    REQUIRE(found);
    return *found;
  };
  CHECK_EQ(std::get<std::vector<Dim>>(attribute(0, "axes")), std::vector<Dim>{Dim(-1)});
  CHECK_EQ(std::get<bool>(attribute(0, "keepdims")), true);
  CHECK_EQ(std::get<std::vector<Dim>>(attribute(1, "axes")), std::vector<Dim>{Dim(0)});
  CHECK_EQ(file.main().nodes[1].attributes.size(), 1);  // defaults are infer's
  CHECK_EQ(std::get<DType>(attribute(2, "to")), DType::bf16);
  CHECK_EQ(std::get<std::int64_t>(attribute(3, "axis")), 1);
  CHECK_EQ(std::get<Dim>(attribute(3, "begin")), Dim::symbol("S") - Dim(1));
  CHECK_EQ(std::get<Dim>(attribute(3, "end")), Dim(9223372036854775807));
  const Dim batch = Dim::symbol("B");
  CHECK_EQ(std::get<std::vector<Dim>>(attribute(4, "shape")),
           std::vector<Dim>{batch * Dim::symbol("S"), batch, Dim(-1)});
  CHECK_EQ(std::get<Number>(attribute(5, "scale")), 2.0);
  CHECK_EQ(std::get<std::string>(attribute(5, "mode")), "causal");
}

TEST_CASE("load: optional operands that are left out, and variadic ones") {
  const Loaded file(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: attention, in: [x, x], out: a}
  - {op: attention, in: [x, x, ~], out: b}
  - {op: attention, in: [x, x, a], out: c}
  - {op: concat, in: [a, b, c, x], out: d, axis: 0}
outputs: d
)yaml");
  const Graph& graph = file.main();
  CHECK_EQ(names(graph, graph.nodes[0].inputs), Names{"x", "x", "-"});
  CHECK_EQ(names(graph, graph.nodes[1].inputs), Names{"x", "x", "-"});
  CHECK_EQ(names(graph, graph.nodes[2].inputs), Names{"x", "x", "a"});
  CHECK_EQ(names(graph, graph.nodes[3].inputs), Names{"a", "b", "c", "x"});
}

TEST_CASE("load: constants") {
  const Loaded file(R"yaml(graph: g
inputs: {x: f32[2]}
constants:
  eps: 1.0e-5
  low: -.inf
  sign: {type: f32[2], values: [-1, 1]}
  matrix: {type: i8[2, 3], values: [[1, 2, 3], [-4, 5, 6]]}
  flat: {type: i8[2, 3], values: [1, 2, 3, 4, 5, 6]}
  zeros: {type: bf16[1024, 1024], values: 0}
  mask: {type: bool[2], values: [true, 0]}
  none: {type: f32[0], values: []}
  w: {type: bf16[64, 64], file: weights.safetensors, key: model.w}
nodes:
  - {op: concat, in: [x, eps, low, sign, matrix, flat, zeros, mask, none, w], out: y, axis: 0}
outputs: [y]
)yaml");
  const Graph& graph = file.main();
  REQUIRE_EQ(graph.constants.size(), 9);
  const auto values = [&](std::size_t i) { return graph.constants[i].values; };
  CHECK_EQ(graph.value(graph.constants[0].value).name, "eps");
  CHECK_EQ(to_text(*value_named(graph, "eps").type), "f32[]");
  CHECK_EQ(values(0), std::vector<Number>{1.0e-5});
  CHECK_EQ(values(1), std::vector<Number>{-std::numeric_limits<double>::infinity()});
  CHECK_EQ(values(2), std::vector<Number>{-1, 1});
  CHECK_EQ(values(3), std::vector<Number>{1, 2, 3, -4, 5, 6});
  CHECK_EQ(values(4), std::vector<Number>{1, 2, 3, 4, 5, 6});
  CHECK_EQ(values(5), std::vector<Number>{0});
  CHECK_EQ(values(6), std::vector<Number>{1, 0});
  CHECK(values(7).empty());
  CHECK(values(8).empty());
  CHECK_EQ(graph.constants[8].file, "weights.safetensors");
  CHECK_EQ(graph.constants[8].key, "model.w");
  CHECK_EQ(value_named(graph, "w").index, 8);
  CHECK_EQ(value_named(graph, "w").kind, ValueKind::constant);
}

TEST_CASE("load: a number among operands is a constant of its own") {
  const Loaded file(R"yaml(graph: g
inputs: {constant_0: f32[2]}
nodes:
  - {op: add, in: [constant_0, 0.5], out: y}
  - {op: add, in: [-.inf, y], out: constant_2}
  - {op: add, in: [constant_2, 0.5], out: z}
outputs: [z]
)yaml");
  const Graph& graph = file.main();
  CHECK_EQ(value_names(graph), Names{"constant_0", "y", "constant_2", "z", "constant_1", "constant_3", "constant_4"});
  CHECK_EQ(names(graph, graph.nodes[0].inputs), Names{"constant_0", "constant_1"});
  const Value& half = value_named(graph, "constant_1");
  CHECK_FALSE(half.type);
  CHECK_EQ(half.kind, ValueKind::constant);
  CHECK_EQ(half.where.line, 4);
  CHECK_EQ(half.where.column, 32);
  CHECK_EQ(graph.constants[half.index].values, std::vector<Number>{0.5});
  CHECK_EQ(graph.constants[1].values, std::vector<Number>{-std::numeric_limits<double>::infinity()});
}

TEST_CASE("load: state, and dims that are read from inputs") {
  const Loaded file(R"yaml(graph: g
dims: {B: 1..4, P: {range: 0..4095, from: position}}
inputs: {x: f32[B, 8], position: i64[]}
state:
  cache: {type: f32[B, 4096], next: all}
  still: f32[8]
  ones: {type: "f32[B]", values: 1}
  stored: {type: "f32[2]", file: w.safetensors, key: stored}
nodes:
  - {op: concat, in: [cache, x, still, ones, stored], out: all, axis: 1}
  - {op: slice, in: all, out: y, axis: 1, begin: P}
outputs: {result: y, twice: y}
)yaml");
  const Graph& graph = file.main();
  REQUIRE_EQ(graph.states.size(), 4);
  CHECK_EQ(graph.value(graph.states[0].value).name, "cache");
  CHECK_EQ(graph.value(graph.states[0].next).name, "all");
  CHECK_EQ(graph.states[1].next, no_id);
  CHECK(graph.states[1].initial.values.empty());
  CHECK_EQ(graph.states[2].initial.values, std::vector<Number>{1});
  CHECK_EQ(graph.states[3].initial.file, "w.safetensors");
  CHECK_EQ(graph.states[3].initial.key, "stored");
  CHECK_EQ(to_text(*value_named(graph, "cache").type), "f32[B, 4096]");
  CHECK_EQ(graph.dims[1].from, "position");
  CHECK_EQ(graph.dims[1].range.high, 4095);
  CHECK(!graph.dims[1].element);
  CHECK_EQ(names(graph, graph.outputs), Names{"y", "y"});
  CHECK_EQ(graph.output_names, Names{"result", "twice"});
}

TEST_CASE("load: dims that are elements of an input") {
  const Loaded file(R"yaml(graph: g
dims: {A: {range: 1..9, from: sizes[0]}, B: {from: "sizes[2]"}, C: {from: count}}
inputs: {x: f32[4], sizes: i32[3], count: i32[]}
nodes:
  - {op: reshape, in: x, out: y, shape: [A, B, C]}
outputs: [y]
)yaml");
  const Graph& graph = file.main();
  REQUIRE_EQ(graph.dims.size(), 3);
  CHECK_EQ(source_text(graph.dims[0]), "sizes[0]");
  CHECK_EQ(source_text(graph.dims[1]), "sizes[2]");
  CHECK_EQ(source_text(graph.dims[2]), "count");
  CHECK_EQ(graph.dims[1].range.low, 0);
  CHECK_EQ(graph.dims[1].range.high, (std::int64_t{1} << 31) - 1);
}

TEST_CASE("load: functions, and the numbers of their calls") {
  const Loaded file(R"yaml(graph: g
dims: {B: 1..4}
inputs: {x: f32[B]}
functions:
  inner:
    inputs: {a: f32[B], scale: bf16[]}
    constants: {w: {type: f32[4], file: w.safetensors, key: "layer.{index}.w"}}
    nodes: [{op: concat, in: [a, w, scale], out: b, axis: 0}]
    outputs: [b]
  outer:
    inputs: {a: f32[B]}
    nodes:
      - {call: inner, in: [a, 2], out: b, repeat: 3}
      - {call: inner, in: [b, 2], out: c}
    outputs: [c]
    numerics: match_unfused
nodes:
  - {call: inner, in: [x, 0.5], out: p}
  - {call: outer, in: p, out: q, repeat: 5}
  - {call: inner, in: [q, 1], out: y, repeat: 2}
outputs: [y]
)yaml");
  const Module& module = *file.module;
  REQUIRE_EQ(module.functions.size(), 2);
  CHECK_EQ(module.functions[0].name, "inner");
  CHECK_EQ(module.functions[0].dims.size(), 1);
  CHECK_EQ(module.functions[0].constants[0].key, "layer.{index}.w");
  CHECK_EQ(module.functions[0].numerics, Numerics::fast);
  CHECK_EQ(module.functions[1].numerics, Numerics::match_unfused);
  CHECK(module.functions[1].output_names.empty());

  const auto call = [](const Graph& graph, std::size_t node) { return std::get<Call>(graph.nodes[node].kind); };
  CHECK_EQ(file.main().nodes[0].op, nullptr);
  CHECK_EQ(call(file.main(), 1).function, 1);
  CHECK_EQ(call(file.main(), 1).repeat, 5);
  // outer runs 5 times, and calls inner 4 times in each: those are the calls 0 to 19.
  CHECK_EQ(call(module.functions[1], 0).first_index, 0);
  CHECK_EQ(call(module.functions[1], 0).index_stride, 4);
  CHECK_EQ(call(module.functions[1], 1).first_index, 3);
  CHECK_EQ(call(module.functions[1], 1).index_stride, 4);
  CHECK_EQ(call(file.main(), 0).first_index, 20);
  CHECK_EQ(call(file.main(), 2).first_index, 21);
  CHECK_EQ(call(file.main(), 1).first_index, 0);
  // A number that is passed to a function has the dtype of the parameter.
  CHECK_EQ(to_text(*value_named(file.main(), "constant_0").type), "bf16[]");
}

TEST_CASE("load: directives") {
  const Loaded file(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x, out: a}
  - {op: relu, in: a, out: b}
  - {op: relu, in: b, out: c}
outputs: [c]
fusion: {forbid: [[a, b]], force: [[b, c], [a, c]], pin: [stub_c]}
expect_fused: [[b, c]]
numerics: match_unfused
)yaml");
  const FusionDirectives& directives = file.main().directives;
  REQUIRE_EQ(directives.forbid.size(), 1);
  CHECK_EQ(directives.forbid[0].values, Names{"a", "b"});
  CHECK_EQ(directives.forbid[0].where.column, 19);
  REQUIRE_EQ(directives.force.size(), 2);
  CHECK_EQ(directives.force[1].values, Names{"a", "c"});
  REQUIRE_EQ(directives.pin.size(), 1);
  CHECK_EQ(directives.pin[0].values, Names{"stub_c"});
  REQUIRE_EQ(directives.expect.size(), 1);
  CHECK_EQ(directives.expect[0].values, Names{"b", "c"});
  CHECK_EQ(short_text(directives.expect[0].where), "graph.yaml:9");
  CHECK_EQ(file.main().numerics, Numerics::match_unfused);
}

TEST_CASE("load: arithmetic over dims") {
  const SourceText source{"dims.yaml", ""};
  DimScope scope;
  scope.entries["D"] = {Dim(64), {}};
  scope.entries["S"] = {Dim::symbol("S"), {}};
  scope.ranges["S"] = {1, 512};
  const auto value = [&](std::string text) {
    const SourceText expression{"dims.yaml", "'" + text + "'"};
    Diagnostics diagnostics;
    const auto tree = parse_yaml(expression, diagnostics);
    const auto dim = read_dim(tree->root(), "an extent", scope, diagnostics);
    CHECK_EQ(diagnostics.text(false), "");
    return dim ? dim->text() : "nothing";
  };
  const Dim s = Dim::symbol("S");
  CHECK_EQ(value("2*D+1"), "129");
  CHECK_EQ(value("2 * S + 1"), (Dim(2) * s + Dim(1)).text());
  CHECK_EQ(value("(S + S) / 2"), "S");
  CHECK_EQ(value("--S - -1"), (s + Dim(1)).text());
  CHECK_EQ(value("7 / 2 * 2"), "6");
  CHECK_EQ(value("8 - 2 - 1"), "5");
  CHECK_EQ(value("-7 / 2"), "-4");
  CHECK_EQ(value("-7 % 2"), "1");
  CHECK_EQ(value("(3 * S + 17) % 1"), "0");
  CHECK_EQ(value("S % 5"), value("S - S / 5 * 5"));
  CHECK_EQ(value("min(3 * D, 7)"), "7");
  CHECK_EQ(value("max(S, S + 1) - 1"), "S");
  CHECK_EQ(value("min(S, max(2 * S, S))"), "S");
  CHECK_EQ(value("min(S, 4)"), "min(S, 4)");
  CHECK_EQ(value("2 * max(4, S + 1) % 3"), value("2 * max(S + 1, 4) - 2 * max(S + 1, 4) / 3 * 3"));
  CHECK_EQ(value("D / (S - S + 8)"), "8");
  CHECK_EQ(value("-9223372036854775807"), "-9223372036854775807");
  CHECK(scope.entries["S"].used);
}

TEST_CASE("load: arithmetic over dims, bad") {
  const auto message = [](std::string text) {
    DimScope scope;
    scope.entries["S"] = {Dim::symbol("S"), {}};
    scope.ranges["S"] = {0, 2147483647};
    const SourceText expression{"d.yaml", "'" + text + "'"};
    Diagnostics diagnostics;
    const auto tree = parse_yaml(expression, diagnostics);
    CHECK_FALSE(read_dim(tree->root(), "an extent", scope, diagnostics));
    REQUIRE_EQ(diagnostics.all().size(), 1);
    const Diagnostic& only = diagnostics.all()[0];
    return std::to_string(only.where.column) + ": " + only.message;
  };
  CHECK_EQ(message(""), "2: expected a number, a dim or '(', not the end");
  CHECK_EQ(message("2 *"), "5: expected a number, a dim or '(', not the end");
  CHECK_EQ(message("2 S"), "4: expected an operator, not 'S'");
  CHECK_EQ(message("2 ^ S"), "4: expected an operator, not '^'");
  CHECK_EQ(message("2 % S"), "4: division by S, which may be 0");
  CHECK_EQ(message("4 / min(S, 4)"), "4: division by min(S, 4), which may be 0");
  CHECK_EQ(message("min(S)"), "7: expected ',', not ')'");
  CHECK_EQ(message("max(S, 1"), "10: expected ')', not the end");
  CHECK_EQ(message("(1"), "4: expected ')', not the end");
  CHECK_EQ(message("4 / S"), "4: division by S, which may be 0");
  CHECK_EQ(message("4 / (1 - 1)"), "4: division by 0, which is not positive");
  CHECK_EQ(message("S * S"), "4: the size is too large: more than 2^53");
  CHECK_EQ(message("9223372036854775808"), "2: the size is too large: more than 2^53");
  CHECK_EQ(message("9007199254740992 + 2"), "19: the size is too large: more than 2^53");
  CHECK_EQ(message("0x10"), "2: '0x10' is neither a number nor a dim");
  CHECK_EQ(message(std::string(300, '-') + "1"), "2: the expression is longer than 256 characters");
  CHECK_EQ(message(std::string(40, '(') + "1" + std::string(40, ')')),
           "34: more than 32 parentheses within each other");
}

}  // namespace kgen
