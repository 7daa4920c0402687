#include "generator/pass/simplify/simplify.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "generator/spec/scalar_value.hpp"
#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {

// ---- fold_constants -------------------------------------------------------------------------------------------------

// Rule: a node all of whose operands are constants that stand in the graph, and whose result has at most 64 elements,
// is worked out now.
TEST_CASE("simplify: constants are folded") {
  CHECK(simplified_nodes("- {op: add, in: [1.5, 2], out: c}\n"
                         "- {op: mul, in: [c, c], out: d}\n"
                         "- {op: mul, in: [x, d], out: y}\n") == "y = mul(x, 12.25)\n");
  CHECK(simplified_nodes("- {op: exp, in: c, out: d}\n- {op: mul, in: [x, d], out: y}\n",
                         "constants: {c: {type: \"f32[8]\", values: [0, 0, 0, 0, 0, 0, 100, -.inf]}}\n") ==
        "y = mul(x, [1 1 1 1 1 1 inf 0])\n");
}

// Operands broadcast as numpy's do.
TEST_CASE("simplify: folding broadcasts") {
  CHECK(simplified_text(R"(
inputs: {x: "f32[2, 3]"}
constants:
  row: {type: "f32[3]", values: [1, 2, 3]}
  column: {type: "f32[2, 1]", values: [10, 20]}
nodes:
- {op: sub, in: [column, row], out: table}
- {op: transpose, in: table, out: turned, perm: [1, 0]}
- {op: transpose, in: x, out: x_turned, perm: [1, 0]}
- {op: add, in: [x_turned, turned], out: y}
outputs: [y]
)") == "x_turned = transpose(x, perm=[1, 0])\ny = add(x_turned, [9 19 8 18 7 17])\n");
}

// Views of one operand are folded.
TEST_CASE("simplify: views of constants are folded") {
  const auto folded = [](const std::string& view) {
    const std::string text = simplified_text(R"(
inputs: {x: "f32[]"}
constants: {c: {type: "f32[2, 3]", values: [0, 1, 2, 3, 4, 5]}}
nodes:
- )" + view + R"(
- {op: add, in: [x, v], out: y}
outputs: [y]
)");
    const auto begin = text.find('[');
    return text.substr(begin, text.find(']') - begin + 1);
  };
  CHECK(folded("{op: transpose, in: c, out: v, perm: [1, 0]}") == "[0 3 1 4 2 5]");
  CHECK(folded("{op: slice, in: c, out: v, axis: 1, begin: 0, end: 3, step: 2}") == "[0 2 3 5]");
  CHECK(folded("{op: select, in: c, out: v, axis: 0, index: 1}") == "[3 4 5]");
  CHECK(folded("{op: flip, in: c, out: v, axis: 1}") == "[2 1 0 5 4 3]");
  CHECK(folded("{op: reshape, in: c, out: v, shape: [3, 2]}") == "[0 1 2 3 4 5]");
  CHECK(folded("{op: unsqueeze, in: c, out: v, axis: 1}") == "[0 1 2 3 4 5]");
  CHECK(folded("{op: broadcast_to, in: c, out: w, shape: [2, 2, 3]}\n- {op: flip, in: w, out: v, axis: 2}") ==
        "[2 1 0 5 4 3 2 1 0 5 4 3]");
}

// The definition is worked out in f64 and rounded to the result's dtype.
TEST_CASE("simplify: folding rounds to the dtype") {
  const auto product = [](const std::string& dtype) {
    return simplified_text("inputs: {x: \"" + dtype + "[2]\"}\nconstants: {c: {type: \"" + dtype +
                           "[2]\", values: [0.1, 1]}}\n"
                           "nodes:\n- {op: mul, in: [c, 3], out: d}\n- {op: add, in: [x, d], out: y}\noutputs: [y]\n");
  };
  CHECK(product("f64") == "y = add(x, [0.30000000000000004 3])\n");
  CHECK(product("f32") == "y = add(x, [0.30000001192092896 3])\n");
  CHECK(product("bf16") == "y = add(x, [0.30078125 3])\n");
}

// Where no single answer would agree with every kernel, the node stays.
TEST_CASE("simplify: what is not folded") {
  const auto constant = [](const std::string& type, const std::string& values, const std::string& nodes,
                           const std::string& input) {
    return simplified_text("inputs: {x: \"" + input + "\"}\nconstants: {c: {type: \"" + type + "\", values: " + values +
                           "}}\nnodes:\n" + nodes + "outputs: [y]\n");
  };
  const std::string square = "- {op: square, in: c, out: d}\n- {op: add, in: [x, d], out: y}\n";
  CHECK(constant("i8[2]", "[11, 2]", square, "i8[2]") == "y = add(x, [121 4])\n");
  CHECK(constant("i8[2]", "[12, 2]", square, "i8[2]") == "d = square([12 2])\ny = add(x, d)\n");
  CHECK(constant("f8e4m3[2]", "[20, 2]", square, "f8e4m3[2]") == "y = add(x, [384 4])\n");
  CHECK(constant("f8e4m3[2]", "[24, 2]", square, "f8e4m3[2]") == "d = square([24 2])\ny = add(x, d)\n");
  const std::string to_i32 = "- {op: cast, in: c, out: d, to: i32}\n- {op: add, in: [x, d], out: y}\n";
  CHECK(constant("f32[2]", "[-1.75, 2.5]", to_i32, "i32[2]") == "y = add(x, [-1 2])\n");
  CHECK(constant("f32[2]", "[-1.75, .nan]", to_i32, "i32[2]") == "d = cast([-1.75 nan], to=i32)\ny = add(x, d)\n");
  // 65 elements are too many, however alike they are.
  CHECK(constant("f32[65]", "[2]", square, "f32[65]") == "d = square(2)\ny = add(x, d)\n");
  CHECK(constant("f32[64]", "[2]", square, "f32[64]") == "y = add(x, 4)\n");
}

TEST_CASE("simplify: infinities, NaN and constants without elements are folded as numpy would") {
  CHECK(simplified_nodes("- {op: div, in: [-1.0, 0.0], out: c}\n- {op: maximum, in: [s, c], out: t}\n"
                         "- {op: add, in: [x, t], out: y}\n") == "t = maximum(s, -inf)\ny = add(x, t)\n");
  CHECK(simplified_nodes("- {op: div, in: [0.0, 0.0], out: c}\n- {op: mul, in: [x, c], out: y}\n") ==
        "y = mul(x, nan)\n");
  CHECK(simplified_text(R"(
inputs: {x: "f32[0, 2]"}
constants: {c: {type: "f32[2, 2]", values: [1, 2, 3, 4]}}
nodes:
- {op: slice, in: c, out: none, axis: 0, begin: 1, end: 1}
- {op: maximum, in: [x, none], out: y}
outputs: [y]
)",
                        true) == "y: f32[0, 2] = maximum(x, 0)\n");
}

// ---- apply_algebra --------------------------------------------------------------------------------------------------

// Rule: f(x, c) -> x where every element of c is the identity, and f(x, c) has the type of x.
TEST_CASE("simplify: identity elements are dropped") {
  CHECK(simplified_nodes("- {op: mul, in: [x, 1], out: a}\n- {op: mul, in: [1, a], out: c}\n"
                         "- {op: sub, in: [c, 0], out: d}\n- {op: neg, in: d, out: y}\n") == "y = neg(x)\n");
  // 1 is on the wrong side, and no identity there.
  CHECK(simplified_nodes("- {op: div, in: [1, x], out: y}\n") == "y = div(1, x)\n");
  // The constant makes the result larger.
  CHECK(simplified_nodes("- {op: mul, in: [s, ones], out: t}\n- {op: add, in: [x, t], out: y}\n",
                         "constants: {ones: {type: \"f32[8]\", values: [1, 1, 1, 1, 1, 1, 1, 1]}}\n") !=
        "y = add(x, s)\n");
  CHECK(simplified_nodes("- {op: mul, in: [x, ones], out: t}\n- {op: neg, in: t, out: y}\n",
                         "constants: {ones: {type: \"f32[8]\", values: [1, 1, 1, 1, 1, 1, 1, 1]}}\n") ==
        "y = neg(x)\n");
}

// NaN and infinities: x * 0 and x - x stay.
TEST_CASE("simplify: x * 0 and x - x stay") {
  CHECK(simplified_nodes("- {op: mul, in: [x, 0], out: y}\n") == "y = mul(x, 0)\n");
  CHECK(simplified_nodes("- {op: sub, in: [x, x], out: y}\n") == "y = sub(x, x)\n");
  CHECK(simplified_nodes("- {op: div, in: [x, x], out: y}\n") == "y = div(x, x)\n");
}

// The sign of zero: with `numerics: match_unfused` an identity is dropped only where both zeros keep their sign.
TEST_CASE("simplify: x + 0 and the sign of zero") {
  const std::string plus_zero = "- {op: add, in: [x, 0.0], out: a}\n- {op: neg, in: a, out: y}\n";
  const std::string minus_zero = "- {op: add, in: [x, -0.0], out: a}\n- {op: neg, in: a, out: y}\n";
  const std::string less_zero = "- {op: sub, in: [x, 0.0], out: a}\n- {op: neg, in: a, out: y}\n";
  const std::string integer = "- {op: add, in: [i, 0], out: a}\n- {op: neg, in: a, out: y}\n";
  const std::string strict = "numerics: match_unfused\n";
  CHECK(simplified_nodes(plus_zero) == "y = neg(x)\n");
  CHECK(simplified_nodes(plus_zero, strict) == "a = add(x, 0)\ny = neg(a)\n");
  CHECK(simplified_nodes(minus_zero, strict) == "y = neg(x)\n");
  CHECK(simplified_nodes(less_zero, strict) == "y = neg(x)\n");
  CHECK(simplified_nodes(integer, strict) == "y = neg(i)\n");
}

// Rule: f(f(x)) -> x for an involution, f(f(x)) -> f(x) where f is idempotent; with the same attributes.
TEST_CASE("simplify: a reduction of single elements is its operand") {
  Rewrites rewrites;
  const auto left = [&](const std::string& nodes, const std::string& output) {
    const Module module = rewrites.simplified("inputs: {x: \"f32[8, 1, 4, 1]\", i: \"i32[1, 1]\"}\nnodes:\n" + nodes +
                                              "outputs: [" + output + "]\n");
    std::string ops;
    for (const Node& node : module.main.nodes) ops += (ops.empty() ? "" : " ") + node.op->name;
    return ops;
  };
  CHECK(left("  - {op: sum, in: x, out: m, axes: [1, 3], keepdims: true}\n  - {op: exp, in: m, out: y}\n", "y") ==
        "exp");
  CHECK(left("  - {op: max, in: x, out: m, axes: [3]}\n  - {op: exp, in: m, out: y}\n", "y") == "squeeze exp");
  CHECK(left("  - {op: prod, in: i, out: m}\n  - {op: neg, in: m, out: y}\n", "y") == "reshape neg");
  CHECK(left("  - {op: mean, in: x, out: m, axes: [1, 2]}\n  - {op: exp, in: m, out: y}\n", "y") == "mean exp");
  CHECK(left("  - {op: argmax, in: x, out: m, axes: [1]}\n  - {op: neg, in: m, out: y}\n", "y") == "argmax neg");
}

TEST_CASE("simplify: repetitions are dropped") {
  CHECK(simplified_nodes("- {op: neg, in: x, out: a}\n- {op: neg, in: a, out: c}\n- {op: neg, in: c, out: d}\n"
                         "- {op: exp, in: d, out: y}\n") == "a = neg(x)\ny = exp(a)\n");
  CHECK(simplified_nodes("- {op: relu, in: x, out: a}\n- {op: relu, in: a, out: c}\n- {op: exp, in: c, out: y}\n") ==
        "a = relu(x)\ny = exp(a)\n");
  CHECK(simplified_nodes("- {op: clamp, in: x, out: a, minimum: 0, maximum: 1}\n"
                         "- {op: clamp, in: a, out: y, minimum: 0, maximum: 2}\n") ==
        "a = clamp(x, minimum=0, maximum=1)\ny = clamp(a, minimum=0, maximum=2)\n");
}

// ---- simplify_casts -------------------------------------------------------------------------------------------------

// Rule: x cast to its own dtype -> x; x cast from A to B to C -> x cast from A to C where B holds every value of A.
TEST_CASE("simplify: casts that lose nothing") {
  const auto casts = [](const std::string& from, const std::vector<std::string>& to) {
    std::string nodes;
    std::string last = "x";
    for (const std::string& dtype : to) {
      nodes += "- {op: cast, in: " + last + ", out: " + last + "c, to: " + dtype + "}\n";
      last += "c";
    }
    return simplified_text("inputs: {x: \"" + from + "[4]\"}\nnodes:\n" + nodes + "- {op: abs, in: " + last +
                           ", out: y}\noutputs: [y]\n");
  };
  CHECK(casts("f32", {"f32"}) == "y = abs(x)\n");
  CHECK(casts("bf16", {"f32", "bf16"}) == "y = abs(x)\n");
  CHECK(casts("f16", {"f32", "bf16"}) == "xcc = cast(x, to=bf16)\ny = abs(xcc)\n");
  CHECK(casts("f32", {"bf16", "f32"}) == "xc = cast(x, to=bf16)\nxcc = cast(xc, to=f32)\ny = abs(xcc)\n");
  CHECK(casts("i8", {"i32", "f64"}) == "xcc = cast(x, to=f64)\ny = abs(xcc)\n");
  CHECK(casts("i8", {"f32", "u8"}) == "xc = cast(x, to=f32)\nxcc = cast(xc, to=u8)\ny = abs(xcc)\n");
  CHECK(casts("f32", {"i32", "f32"}) == "xc = cast(x, to=i32)\nxcc = cast(xc, to=f32)\ny = abs(xcc)\n");
}

TEST_CASE("simplify: which dtype holds every value of another") {
  CHECK(holds_every_value(DType::f32, DType::bf16));
  CHECK(holds_every_value(DType::f16, DType::f8e5m2));
  CHECK(holds_every_value(DType::f16, DType::f8e5m2fnuz));
  CHECK(holds_every_value(DType::bf16, DType::f8e8m0));
  CHECK(holds_every_value(DType::i8, DType::i4));
  CHECK(holds_every_value(DType::bf16, DType::u4));
  CHECK_FALSE(holds_every_value(DType::f16, DType::f8e8m0));
  CHECK_FALSE(holds_every_value(DType::f8e8m0, DType::boolean));
  CHECK_FALSE(holds_every_value(DType::i4, DType::u4));
  CHECK(holds_every_value(DType::bf16, DType::i8));
  CHECK(holds_every_value(DType::f32, DType::i16));
  CHECK(holds_every_value(DType::i64, DType::u32));
  CHECK(holds_every_value(DType::f8e4m3, DType::boolean));
  CHECK_FALSE(holds_every_value(DType::bf16, DType::f16));
  CHECK_FALSE(holds_every_value(DType::f16, DType::bf16));
  CHECK_FALSE(holds_every_value(DType::f32, DType::i32));
  CHECK_FALSE(holds_every_value(DType::u64, DType::i8));
  CHECK_FALSE(holds_every_value(DType::i32, DType::u32));
  CHECK_FALSE(holds_every_value(DType::f8e4m3, DType::i8));
  CHECK_FALSE(holds_every_value(DType::boolean, DType::u8));
}

TEST_CASE("simplify: integers that a double cannot hold keep their value") {
  const std::string text = simplified_text(R"(
inputs: {x: "i64[2]"}
constants:
  pair: {type: "i64[2]", values: [9007199254740993, 9223372036854775807]}
  one: {type: "i64[]", values: 1}
nodes:
- {op: flip, in: pair, out: turned, axis: 0}
- {op: add, in: [x, turned], out: sum}
- {op: sub, in: [pair, one], out: less}
- {op: mul, in: [sum, less], out: y}
outputs: [y]
)");
  CHECK(text.find("[9223372036854775807 9007199254740993]") != std::string::npos);
  CHECK(text.find("less = sub([9007199254740993 9223372036854775807], 1)") != std::string::npos);
}

// Known answers: nearest, halves to even; the greatest elements; what overflows.
TEST_CASE("simplify: rounding to a dtype") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(round_to_dtype(0.1, DType::f32) == static_cast<double>(0.1f));
  CHECK(round_to_dtype(1e39, DType::f32) == infinity);
  CHECK(round_to_dtype(2049, DType::f16) == 2048);
  CHECK(round_to_dtype(2051, DType::f16) == 2052);
  CHECK(round_to_dtype(65519, DType::f16) == 65504);
  CHECK(round_to_dtype(65520, DType::f16) == infinity);
  CHECK(round_to_dtype(0x1p-24, DType::f16) == 0x1p-24);
  CHECK(round_to_dtype(0x1p-25, DType::f16) == 0);
  CHECK(round_to_dtype(257, DType::bf16) == 256);
  CHECK(round_to_dtype(259, DType::bf16) == 260);
  CHECK(round_to_dtype(17, DType::f8e4m3) == 16);
  CHECK(round_to_dtype(448, DType::f8e4m3) == 448);
  CHECK(round_to_dtype(0x1p-9, DType::f8e4m3) == 0x1p-9);
  CHECK_FALSE(round_to_dtype(1000, DType::f8e4m3));
  CHECK_FALSE(round_to_dtype(0.5, DType::i32));
  CHECK_FALSE(round_to_dtype(256, DType::u8));
  CHECK_FALSE(round_to_dtype(1e17, DType::i64));
  CHECK(std::isnan(*round_to_dtype(std::nan(""), DType::bf16)));
  CHECK(std::signbit(*round_to_dtype(-0.0, DType::f16)));
  CHECK(cast_to_dtype(-2.9, DType::i8) == -2);
  CHECK(cast_to_dtype(0.3, DType::boolean) == 1);
}

// ---- merge_equal_nodes and remove_dead_nodes ------------------------------------------------------------------------

// Rule: of nodes that compute the same, the first serves all.
TEST_CASE("simplify: equal nodes are merged") {
  CHECK(simplified_nodes("- {op: exp, in: x, out: a}\n- {op: exp, in: x, out: c}\n- {op: add, in: [a, c], out: y}\n") ==
        "a = exp(x)\ny = add(a, a)\n");
  CHECK(simplified_nodes("- {op: add, in: [x, z], out: a}\n- {op: add, in: [z, x], out: c}\n"
                         "- {op: sub, in: [a, c], out: y}\n") == "a = add(x, z)\ny = sub(a, a)\n");
  CHECK(simplified_nodes("- {op: sub, in: [x, z], out: a}\n- {op: sub, in: [z, x], out: c}\n"
                         "- {op: sub, in: [a, c], out: y}\n") == "a = sub(x, z)\nc = sub(z, x)\ny = sub(a, c)\n");
  CHECK(simplified_nodes("- {op: sum, in: x, out: a, axes: [-1]}\n- {op: sum, in: x, out: c, axes: [1]}\n"
                         "- {op: div, in: [a, c], out: y}\n") ==
        "a = sum(x, axes=[-1], keepdims=false)\ny = div(a, a)\n");
  CHECK(
      simplified_nodes("- {op: slice, in: x, out: a, axis: -1, begin: 0, end: 4}\n"
                       "- {op: slice, in: x, out: c, axis: 1, begin: 0, end: 4}\n- {op: div, in: [a, c], out: y}\n") ==
      "a = slice(x, axis=-1, begin=0, end=4, step=1)\ny = div(a, a)\n");
  CHECK(simplified_nodes("- {op: cast, in: x, out: a, to: f16}\n- {op: cast, in: x, out: c, to: bf16}\n"
                         "- {op: cast, in: c, out: d, to: f16}\n- {op: add, in: [a, d], out: y}\n") ==
        "a = cast(x, to=f16)\nc = cast(x, to=bf16)\nd = cast(c, to=f16)\ny = add(a, d)\n");
}

// Numbers are compared as bits: NaN equals NaN, 0 differs from -0.
TEST_CASE("simplify: NaN and zeros among merged nodes") {
  CHECK(simplified_nodes("- {op: mul, in: [x, .nan], out: a}\n- {op: mul, in: [x, .nan], out: c}\n"
                         "- {op: add, in: [a, c], out: y}\n") == "a = mul(x, nan)\ny = add(a, a)\n");
  CHECK(simplified_nodes("- {op: mul, in: [x, 0.0], out: a}\n- {op: mul, in: [x, -0.0], out: c}\n"
                         "- {op: add, in: [a, c], out: y}\n") == "a = mul(x, 0)\nc = mul(x, -0)\ny = add(a, c)\n");
  CHECK(simplified_nodes("- {op: clamp, in: x, out: a, minimum: .nan}\n- {op: clamp, in: x, out: c, minimum: .nan}\n"
                         "- {op: add, in: [a, c], out: y}\n") ==
        "a = clamp(x, minimum=nan, maximum=inf)\ny = add(a, a)\n");
}

// Calls differ always, for each has constants and state of its own.
TEST_CASE("simplify: calls are not merged") {
  CHECK(simplified_text(R"(
inputs: {x: "f32[8]"}
functions:
  layer:
    inputs: {h: "f32[8]"}
    constants: {w: {type: "f32[8]", file: w.safetensors, key: "w{index}"}}
    nodes:
    - {op: mul, in: [h, w], out: k}
    outputs: [k]
nodes:
- {call: layer, in: x, out: a}
- {call: layer, in: x, out: b}
- {op: add, in: [a, b], out: y}
outputs: [y]
)") == "a = call(x)\nb = call(x)\ny = add(a, b)\n");
}

// Rule: a node none of whose results is read is dropped; one as the user wrote it gets a warning.
TEST_CASE("simplify: dead nodes are dropped, with one warning for each that nothing reads") {
  Rewrites rewrites;
  const Module module = rewrites.simplified(R"(
inputs: {x: "f32[8]"}
nodes:
- {op: neg, in: x, out: y}
- {op: exp, in: x, out: a}
- {op: sum, in: a, out: idle}
outputs: [y]
)");
  check_consistent(module.main);
  CHECK(text_of(module.main) == "y = neg(x)\n");
  CHECK(module.main.values.size() == 2);
  REQUIRE(rewrites.diagnostics.all().size() == 1);
  CHECK(rewrites.diagnostics.all()[0].severity == Severity::warning);
  CHECK(rewrites.diagnostics.all()[0].message == "'idle' is never read");
  CHECK(rewrites.diagnostics.all()[0].where.line == 7);
}

// ---- what is kept ---------------------------------------------------------------------------------------------------

// An output that turns out to be another value is still made: by the node that makes the other value, or as a copy.
TEST_CASE("simplify: outputs that are other values") {
  const auto outputs = [](const std::string& nodes, const std::string& names) {
    return simplified_text("inputs: {x: \"f32[8]\"}\nnodes:\n" + nodes + "outputs: [" + names + "]\n");
  };
  CHECK(outputs("- {op: exp, in: x, out: a}\n- {op: mul, in: [a, 1], out: y}\n- {op: neg, in: a, out: w}\n", "y, w") ==
        "y = exp(x)\nw = neg(y)\n");
  CHECK(outputs("- {op: mul, in: [x, 1], out: y}\n", "y") == "y = copy(x)\n");
  CHECK(outputs("- {op: reshape, in: x, out: y, shape: [8]}\n- {op: neg, in: y, out: w}\n", "y, w") ==
        "y = copy(x)\nw = neg(x)\n");
  CHECK(outputs("- {op: exp, in: x, out: y}\n- {op: exp, in: x, out: w}\n", "y, w") == "y = exp(x)\nw = copy(y)\n");
  CHECK(outputs("- {op: add, in: [1, 2], out: y}\n", "y, x") == "y = copy(3)\n");
  CHECK(outputs("- {op: copy, in: x, out: y}\n- {op: copy, in: x, out: w}\n", "y, w") == "y = copy(x)\nw = copy(x)\n");
}

// Inputs, states and outputs keep their names and order; a state's next value is made like an output.
TEST_CASE("simplify: states") {
  Rewrites rewrites;
  const Module module = rewrites.simplified(R"(
inputs: {x: "f32[8]", idle: "f32[]"}
state:
  total: {type: "f32[8]", next: after}
  kept: {type: "f32[8]", next: same}
nodes:
- {op: add, in: [total, x], out: sum}
- {op: add, in: [x, total], out: after}
- {op: mul, in: [kept, 1], out: same}
- {op: exp, in: sum, out: y}
outputs: [y]
)");
  check_consistent(module.main);
  CHECK(text_of(module.main) == "after = add(total, x)\nsame = copy(kept)\ny = exp(after)\n");
  CHECK(module.main.inputs.size() == 2);
  CHECK(module.main.value(module.main.states[0].value).name == "total");
  CHECK(module.main.value(module.main.states[0].next).name == "after");
  CHECK(module.main.value(module.main.states[1].next).name == "same");
  CHECK(module.main.value(module.main.outputs[0]).name == "y");
}

// Values that a directive names are neither merged, replaced nor dropped, and nothing looks behind them.
TEST_CASE("simplify: values that directives name") {
  const std::string nodes =
      "- {op: neg, in: x, out: a}\n- {op: neg, in: a, out: c}\n- {op: exp, in: c, out: d}\n- {op: exp, in: c, out: e}\n"
      "- {op: mul, in: [d, e], out: y}\n";
  CHECK(simplified_nodes(nodes) == "d = exp(x)\ny = mul(d, d)\n");
  CHECK(simplified_nodes(nodes, "fusion: {forbid: [[a, c]]}\n") ==
        "a = neg(x)\nc = neg(a)\nd = exp(c)\ny = mul(d, d)\n");
  CHECK(simplified_nodes(nodes, "expect_fused: [[e, y]]\n") == "d = exp(x)\ne = exp(x)\ny = mul(d, e)\n");
}

// Constants that nothing reads any more are gone, and equal ones are one.
TEST_CASE("simplify: constants are dropped and merged") {
  Rewrites rewrites;
  const Module module = rewrites.simplified(R"(
inputs: {x: "f32[8]"}
constants:
  w: {type: "f32[8]", file: w.safetensors, key: w}
  same: {type: "f32[8]", file: w.safetensors, key: w}
  other: {type: "f32[8]", file: w.safetensors, key: other}
nodes:
- {op: add, in: [2, 3], out: five}
- {op: mul, in: [x, five], out: a}
- {op: mul, in: [a, 5], out: b}
- {op: mul, in: [b, w], out: c}
- {op: mul, in: [c, same], out: d}
- {op: mul, in: [d, other], out: y}
outputs: [y]
)");
  check_consistent(module.main);
  CHECK(text_of(module.main) == "a = mul(x, 5)\nb = mul(a, 5)\nc = mul(b, w)\nd = mul(c, w)\ny = mul(d, other)\n");
  CHECK(module.main.constants.size() == 3);
}

// Functions are simplified as well.
TEST_CASE("simplify: functions") {
  Rewrites rewrites;
  const Module module = rewrites.simplified(R"(
inputs: {x: "f32[8]"}
functions:
  layer:
    inputs: {h: "f32[8]"}
    nodes:
    - {op: neg, in: h, out: a}
    - {op: neg, in: a, out: b}
    - {op: exp, in: b, out: k}
    outputs: [k]
nodes:
- {call: layer, in: x, out: y}
outputs: [y]
)");
  check_consistent(module.functions[0]);
  CHECK(text_of(module.functions[0]) == "k = exp(h)\n");
}

// What is simplified stays as it is when it is simplified again.
TEST_CASE("simplify: a fixed point") {
  Rewrites rewrites;
  const Module once = simplify(rewrites.decomposed(R"(
dims: {M: 1..64}
inputs: {x: "bf16[M, 2, 6]", c: "bf16[6]"}
nodes:
- {op: rope, in: [x, c, c], out: r}
- {op: softmax, in: r, out: p}
- {op: transpose, in: p, out: t, perm: [1, 0, 2]}
- {op: gelu, in: t, out: y}
outputs: [y]
)"),
                               rewrites.ops, rewrites.diagnostics);
  const std::string text = text_of(once.main, true);
  const Module twice = simplify(once, rewrites.ops, rewrites.diagnostics);
  check_consistent(twice.main);
  CHECK(text_of(twice.main, true) == text);
  CHECK_FALSE(rewrites.diagnostics.has_errors());
}

// Linear: the sweeps look at each node a few times, whatever the number of nodes.
TEST_CASE("simplify: the work grows as the graph does") {
  const auto visits_per_node = [](int blocks) {
    std::string nodes;
    std::string last = "x";
    for (int i = 0; i < blocks; ++i) {
      const std::string n = std::to_string(i);
      nodes += "- {op: relu, in: " + last + ", out: r" + n + "}\n- {op: transpose, in: r" + n + ", out: t" + n +
               ", perm: [1, 0]}\n- {op: mul, in: [t" + n + ", 1], out: m" + n + "}\n- {op: neg, in: m" + n +
               ", out: a" + n + "}\n- {op: neg, in: m" + n + ", out: b" + n + "}\n- {op: add, in: [a" + n + ", b" + n +
               "], out: s" + n + "}\n";
      last = "s" + n;
    }
    Rewrites rewrites;
    Module module = rewrites.inferred("inputs: {x: \"f32[4, 4]\"}\nnodes:\n" + nodes + "outputs: [" + last + "]\n");
    const auto count = static_cast<double>(module.main.nodes.size());
    std::size_t visits = 0;
    const Module result = simplify(std::move(module), rewrites.ops, rewrites.diagnostics, &visits);
    CHECK(result.main.nodes.size() >= static_cast<std::size_t>(blocks));
    return static_cast<double>(visits) / count;
  };
  const double small = visits_per_node(167);    // 1,000 nodes
  const double large = visits_per_node(16667);  // 100,000 nodes
  CHECK(small > 1);
  CHECK(large < 60);
  CHECK(large < 1.1 * small);
}

}  // namespace kgen
