#include "generator/pass/choose/decompose.hpp"

#include <doctest/doctest.h>

#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {
namespace {

std::string decomposed_text(Rewrites& rewrites, const std::string& body, bool typed = false) {
  const Module module = rewrites.decomposed(body);
  REQUIRE_MESSAGE(!rewrites.diagnostics.has_errors(), rewrites.diagnostics.text(false));
  check_consistent(module.main);
  return text_of(module.main, typed);
}

// The first message, for composites of `ops` applied as `body` does.
std::string first_error(const std::string& ops, const std::string& body) {
  Rewrites rewrites(ops);
  rewrites.decomposed(body);
  REQUIRE(rewrites.diagnostics.has_errors());
  const auto& all = rewrites.diagnostics.all();
  return std::find_if(all.begin(), all.end(), [](const Diagnostic& each) { return each.severity == Severity::error; })
      ->message;
}

}  // namespace

// Rule: a composite node becomes the nodes of its operator's expansion. Locals are `<result>_<local>`; "$name" is an
// attribute of the composite; the last result keeps the graph's name.
TEST_CASE("decompose: a composite becomes its expansion") {
  Rewrites rewrites;
  CHECK(decomposed_text(rewrites, R"(
dims: {M: 1..64}
inputs: {x: "f32[M, 32]"}
nodes:
- {op: relu, in: x, out: r}
- {op: softmax, in: r, out: p, axis: 1}
- {op: neg, in: p, out: y}
outputs: [y]
)",
                        true) ==
        "r: f32[M, 32] = relu(x)\n"
        "p_maximum: f32[M, 1] = max(r, axes=[1], keepdims=true)\n"
        "p_shifted: f32[M, 32] = sub(r, p_maximum)\n"
        "p_exponential: f32[M, 32] = exp_nonpositive(p_shifted)\n"
        "p_total: f32[M, 1] = sum(p_exponential, axes=[1], keepdims=true)\n"
        "p_scale: f32[M, 1] = reciprocal(p_total)\n"
        "p: f32[M, 32] = mul(p_exponential, p_scale)\n"
        "y: f32[M, 32] = neg(p)\n");
}

// Rule: what has a kernel is expanded where a choice of its expansion holds, and then sees its operands as they are.
TEST_CASE("decompose: an operator with a kernel becomes another where its expansion says so") {
  Rewrites rewrites;
  CHECK(decomposed_text(rewrites, R"(
inputs: {x: "f32[8]", h: "f16[8]"}
nodes:
- {op: cast, in: x, out: a, to: f8e4m3}
- {op: cast, in: x, out: b, to: f8e5m2, saturate: false}
- {op: cast, in: x, out: c, to: f8e8m0, round: up}
- {op: bitcast, in: x, out: d, to: i32}
- {op: bitcast, in: h, out: e, to: i16}
outputs: [a, b, c, d, e]
)",
                        true) ==
        "a: f8e4m3[8] = cast(x, to=f8e4m3)\n"
        "b: f8e5m2[8] = narrow(x, to=f8e5m2, saturate=false, round=nearest)\n"
        "c: f8e8m0[8] = narrow(x, to=f8e8m0, saturate=true, round=up)\n"
        "d: i32[8] = bitcast(x, to=i32)\n"
        "e: i16[8] = bit_copy(h, to=i16)\n");
}

// Rule: an operand may be a number that follows from attributes.
TEST_CASE("decompose: numbers that follow from attributes") {
  Rewrites rewrites(R"(ops:
- op: root
  kind: composite
  types: {T: float}
  operands: {x: T}
  results: {out: T}
  attributes: {degree: {type: number}}
  expansion:
  - {op: pow, in: [x, 1 / $degree], out: out}
)");
  const Module module = rewrites.decomposed("inputs: {x: \"f64[8]\"}\nnodes:\n- {op: root, in: x, out: y, degree: 4}\noutputs: [y]\n");
  REQUIRE_MESSAGE(!rewrites.diagnostics.has_errors(), rewrites.diagnostics.text(false));
  REQUIRE(module.main.constants.size() == 1);
  CHECK(module.main.constants[0].values == std::vector<Number>{0.25});
}

// Rule: in an expansion a type variable stands for its dtype, and `least` and `greatest` for the ends of an integer's
// range.
TEST_CASE("decompose: dtypes in expansions") {
  Rewrites rewrites;
  const std::string text = decomposed_text(rewrites, R"(
inputs: {x: "f32[8]", scale: "f32[]", zero: "i4[]"}
nodes:
- {op: quantize_linear, in: [x, scale, zero], out: y}
outputs: [y]
)",
                                           true);
  CHECK(text.find("clamp(y_stored, minimum=-8, maximum=7)") != std::string::npos);
  CHECK(text.find("y: i4[8] = cast(y_limited, to=i4") != std::string::npos);
}

// Rule: every node of an expansion gets the place of the composite as written in the graph, and `within` names the
// outermost composite.
TEST_CASE("decompose: nodes say where they come from") {
  Rewrites rewrites;
  const Module module = rewrites.decomposed(R"(
inputs: {g: "f32[8]", u: "f32[8]"}
nodes:
- {op: neg, in: g, out: n}
- {op: swiglu, in: [n, u], out: y}
outputs: [y]
)");
  CHECK(text_of(module.main) ==
        "n = neg(g)\n"
        "y_opened_gate = sigmoid(n)\n"
        "y_opened = mul(n, y_opened_gate)\n"
        "y = mul(y_opened, u)\n");
  CHECK(module.main.nodes[0].within.empty());
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(module.main.nodes[i].within == "swiglu");
    CHECK(module.main.nodes[i].where.line == 6);
  }
}

// Rule: a local's name gets a number where it is taken.
TEST_CASE("decompose: names stay unique") {
  Rewrites rewrites;
  CHECK(decomposed_text(rewrites, R"(
inputs: {y_gate: "f32[8]"}
nodes:
- {op: silu, in: y_gate, out: y}
outputs: [y]
)") == "y_gate_2 = sigmoid(y_gate)\ny = mul(y_gate, y_gate_2)\n");
}

// Rule: of several expansions the first whose `when` holds is taken; extent() is the greatest extent of an axis.
TEST_CASE("decompose: the first expansion whose condition holds") {
  Rewrites rewrites;
  const auto uses_statistics = [&](const std::string& type, const std::string& dims) {
    return decomposed_text(rewrites, "dims: {" + dims + "}\ninputs: {x: \"" + type + R"("}
nodes:
- {op: softmax, in: x, out: y}
outputs: [y]
)")
               .find("softmax_statistics") != std::string::npos;
  };
  CHECK_FALSE(uses_statistics("f32[M, 65536]", "M: 1..100000"));
  CHECK(uses_statistics("f32[M, 65537]", "M: 1..4"));
  CHECK(uses_statistics("f32[4, M]", "M: 1..65537"));
  CHECK_FALSE(uses_statistics("f32[4, M]", "M: 1..65536"));
}

// Rule: `when` holds for every value of the symbolic dims, or another expansion is taken.
TEST_CASE("decompose: a condition that holds for some sizes alone does not hold") {
  Rewrites rewrites(R"(
ops:
- op: turned
  doc: By how many lines there are.
  source: test
  kind: composite
  types: {T: float}
  operands: {x: {type: T, shape: "[M, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  expansion:
  - when: M >= 16 && T == f32
    nodes: [{op: neg, in: x, out: out}]
  - when: M <= 15
    nodes: [{op: abs, in: x, out: out}]
  - nodes: [{op: exp, in: x, out: out}]
)");
  const auto text = [&](const std::string& range, const std::string& dtype) {
    return decomposed_text(rewrites, "dims: {S: " + range + "}\ninputs: {x: \"" + dtype +
                                         "[S, 8]\"}\nnodes: [{op: turned, in: x, out: y}]\noutputs: [y]\n");
  };
  CHECK(text("16..64", "f32") == "y = neg(x)\n");
  CHECK(text("1..64", "f32") == "y = exp(x)\n");
  CHECK(text("1..15", "f32") == "y = abs(x)\n");
  CHECK(text("16..64", "f64") == "y = exp(x)\n");
}

// Rule: constant() asks whether an operand is known when the model is loaded, within expansions too.
TEST_CASE("decompose: a condition on what is constant") {
  Rewrites rewrites(R"(
ops:
- op: packed_product
  doc: By what w is.
  source: test
  kind: composite
  types: {T: float}
  operands: {x: {type: T, shape: "[M, K]"}, w: {type: T, shape: "[K, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  expansion:
  - when: constant(w)
    nodes: [{op: exp, in: w, out: packed}, {op: matmul, in: [x, packed], out: out}]
  - nodes: [{op: matmul, in: [x, w], out: out}]
- op: twice
  doc: Both of them from within.
  source: test
  kind: composite
  types: {T: float}
  operands: {x: {type: T, shape: "[M, K]"}, w: {type: T, shape: "[K, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  expansion:
  - {op: mul, in: [w, 2], out: doubled}
  - {op: packed_product, in: [x, doubled], out: first}
  - {op: transpose, in: x, out: turned, perm: [1, 0]}
  - {op: packed_product, in: [first, turned], out: second}
  - {op: packed_product, in: [second, doubled], out: out}
)");
  const auto text = [&](const std::string& x, const std::string& w) {
    return decomposed_text(rewrites,
                           "inputs: {a: \"f32[4, 4]\"}\nconstants: {c: {type: \"f32[4, 4]\", values: 2}}\nnodes:\n"
                           "- {op: twice, in: [" +
                               x + ", " + w + "], out: y}\noutputs: [y]\n");
  };
  CHECK(text("a", "c") ==
        "y_doubled = mul(2, 2)\n"
        "y_first_packed = exp(y_doubled)\n"
        "y_first = matmul(a, y_first_packed)\n"
        "y_turned = transpose(a, perm=[1, 0])\n"
        "y_second = matmul(y_first, y_turned)\n"
        "y_packed = exp(y_doubled)\n"
        "y = matmul(y_second, y_packed)\n");
  CHECK(text("c", "a").find("exp(y_doubled)") == std::string::npos);
  CHECK(text("c", "a").find("exp(y_turned)") != std::string::npos);
}

// Rule: given() asks whether an optional operand was given; one that was left out is left out of the inner node too.
// Attributes may be used in conditions and in arithmetic, and stand for numbers among operands.
TEST_CASE("decompose: optional operands, conditions and attributes") {
  const std::string ops = R"(
ops:
- op: affine
  doc: x * scale + bias, or one less where there is no bias.
  source: test
  kind: composite
  types: {T: float}
  operands: {x: T, bias: {type: T, optional: true}}
  results: {out: T}
  attributes:
    scale: {type: number, default: 2, doc: Factor.}
    flipped: {type: boolean, default: false, doc: Flip.}
    axis: {type: integer, default: 0, doc: Axis.}
  expansion:
  - when: given(bias) && !flipped
    nodes:
    - {op: mul, in: [x, $scale], out: scaled}
    - {op: add, in: [scaled, bias], out: out}
  - when: flipped
    nodes:
    - {op: flip, in: x, out: mirrored, axis: $axis + 1}
    - {op: mul, in: [mirrored, $scale], out: out}
  - nodes:
    - {op: mul, in: [x, $scale], out: scaled}
    - {op: sub, in: [scaled, 1], out: out}
- op: attend
  doc: attention
  source: test
  kind: composite
  types: {T: float}
  operands:
    q: {type: T, shape: "[B, S, H, D]"}
    mask: {type: T, optional: true}
  results: {out: {type: T, shape: "[B, S, H, D]"}}
  expansion:
  - {op: attention, in: [q, q, q, mask], out: out}
)";
  Rewrites rewrites(ops);
  const auto text = [&](const std::string& node) {
    return decomposed_text(rewrites, "inputs: {x: \"f32[4, 4]\", b: \"f32[4]\", q: \"f32[1, 2, 3, 4]\"}\nnodes:\n- " +
                                         node + "\noutputs: [y]\n");
  };
  CHECK(text("{op: affine, in: [x, b], out: y, scale: 3}") == "y_scaled = mul(x, 3)\ny = add(y_scaled, b)\n");
  CHECK(text("{op: affine, in: x, out: y}") == "y_scaled = mul(x, 2)\ny = sub(y_scaled, 1)\n");
  CHECK(text("{op: affine, in: x, out: y, flipped: true}") == "y_mirrored = flip(x, axis=1)\ny = mul(y_mirrored, 2)\n");
  CHECK(text("{op: attend, in: q, out: y}") == "y = attention(q, q, q, -, scale=0.5, causal=false)\n");
}

// Rule: a variadic operand stands for all of its tensors; names of shape patterns stand for extents.
TEST_CASE("decompose: variadic operands and sizes") {
  Rewrites rewrites(R"(
ops:
- op: joined
  doc: Joined along the first axis, negated.
  source: test
  kind: composite
  types: {T: float}
  operands: {parts: {type: T, variadic: true}}
  results: {out: T}
  expansion:
  - {op: concat, in: parts, out: whole, axis: 0}
  - {op: select, in: whole, out: out, axis: 0, index: 1}
)");
  CHECK(decomposed_text(rewrites, R"(
inputs: {a: "f32[1, 4]", b: "f32[1, 4]"}
nodes:
- {op: reshape, in: a, out: a_flat, shape: [4]}
- {op: reshape, in: b, out: b_flat, shape: [4]}
- {op: unsqueeze, in: a_flat, out: c, axis: 0}
- {op: concat, in: [a, b, c], out: y, axis: 0}
outputs: [y]
)")
            .ends_with("y = concat(a, b, c, axis=0)\n"));
  CHECK(decomposed_text(rewrites, R"(
inputs: {x: "f32[4, 6]", w: "f32[5, 6]", b: "f32[5]"}
nodes:
- {op: linear, in: [x, w, b], out: y}
outputs: [y]
)",
                        true) ==
        "y_transposed: f32[6, 5] = transpose(w, perm=[1, 0])\n"
        "y_product: f32[4, 5] = matmul(x, y_transposed)\n"
        "y: f32[4, 5] = add(y_product, b)\n");
  CHECK(decomposed_text(rewrites, R"(
dims: {S: 1..8}
inputs: {x: "f32[S, 6]", c: "f32[6]"}
nodes:
- {op: rope, in: [x, c, c], out: y}
outputs: [y]
)")
            .starts_with("y_first = slice(x, axis=-1, begin=0, end=3, step=1)\n"
                         "y_second = slice(x, axis=-1, begin=3, end=6, step=1)\n"));
}

// Rule: on f16, bf16 and f8 an expansion computes in f32 and rounds once, at its end.
TEST_CASE("decompose: composites of low precision compute in f32") {
  Rewrites rewrites;
  CHECK(decomposed_text(rewrites, R"(
inputs: {g: "bf16[8]", u: "bf16[8]"}
nodes:
- {op: swiglu, in: [g, u], out: y}
outputs: [y]
)",
                        true) ==
        "y_gate_f32: f32[8] = cast(g, to=f32)\n"
        "y_opened_gate: f32[8] = sigmoid(y_gate_f32)\n"
        "y_opened: f32[8] = mul(y_gate_f32, y_opened_gate)\n"
        "y_up_f32: f32[8] = cast(u, to=f32)\n"
        "y_f32: f32[8] = mul(y_opened, y_up_f32)\n"
        "y: bf16[8] = cast(y_f32, to=bf16)\n");
  CHECK(decomposed_text(rewrites, R"(
inputs: {x: "f64[8]"}
nodes:
- {op: silu, in: x, out: y}
outputs: [y]
)",
                        true) == "y_gate: f64[8] = sigmoid(x)\ny: f64[8] = mul(x, y_gate)\n");
}

// Rule: casts to f32 go behind views, and the cast back in front of a view that leads to nothing but a result.
TEST_CASE("decompose: views move elements as they are") {
  Rewrites rewrites;
  CHECK(decomposed_text(rewrites, R"(
inputs: {x: "f16[6]", c: "f16[6]"}
nodes:
- {op: rope, in: [x, c, c], out: y}
outputs: [y]
)",
                        true) ==
        "y_first: f16[3] = slice(x, axis=-1, begin=0, end=3, step=1)\n"
        "y_second: f16[3] = slice(x, axis=-1, begin=3, end=6, step=1)\n"
        "y_first_cos: f16[3] = slice(c, axis=-1, begin=0, end=3, step=1)\n"
        "y_second_cos: f16[3] = slice(c, axis=-1, begin=3, end=6, step=1)\n"
        "y_first_sin: f16[3] = slice(c, axis=-1, begin=0, end=3, step=1)\n"
        "y_second_sin: f16[3] = slice(c, axis=-1, begin=3, end=6, step=1)\n"
        "y_first_f32: f32[3] = cast(y_first, to=f32)\n"
        "y_first_cos_f32: f32[3] = cast(y_first_cos, to=f32)\n"
        "y_first_kept: f32[3] = mul(y_first_f32, y_first_cos_f32)\n"
        "y_second_f32: f32[3] = cast(y_second, to=f32)\n"
        "y_first_sin_f32: f32[3] = cast(y_first_sin, to=f32)\n"
        "y_first_turned: f32[3] = mul(y_second_f32, y_first_sin_f32)\n"
        "y_first_rotated: f32[3] = sub(y_first_kept, y_first_turned)\n"
        "y_second_cos_f32: f32[3] = cast(y_second_cos, to=f32)\n"
        "y_second_kept: f32[3] = mul(y_second_f32, y_second_cos_f32)\n"
        "y_second_sin_f32: f32[3] = cast(y_second_sin, to=f32)\n"
        "y_second_turned: f32[3] = mul(y_first_f32, y_second_sin_f32)\n"
        "y_second_rotated: f32[3] = add(y_second_kept, y_second_turned)\n"
        "y_first_rotated_f16: f16[3] = cast(y_first_rotated, to=f16)\n"
        "y_second_rotated_f16: f16[3] = cast(y_second_rotated, to=f16)\n"
        "y: f16[6] = concat(y_first_rotated_f16, y_second_rotated_f16, axis=-1)\n");
}

// A result that the expansion goes on computing with is rounded for the reader outside only.
TEST_CASE("decompose: a result in the middle stays f32 within") {
  Rewrites rewrites(R"(
ops:
- op: add_and_square
  doc: Two results.
  source: test
  kind: composite
  types: {T: float}
  operands: {a: T, b: T}
  results: {total: T, squared: T}
  expansion:
  - {op: add, in: [a, b], out: total}
  - {op: square, in: total, out: squared}
)");
  CHECK(decomposed_text(rewrites, R"(
inputs: {a: "bf16[8]"}
nodes:
- {op: add_and_square, in: [a, a], out: [t, s]}
outputs: [t, s]
)") == "t_a_f32 = cast(a, to=f32)\n"
       "t_f32 = add(t_a_f32, t_a_f32)\n"
       "t = cast(t_f32, to=bf16)\n"
       "s_f32 = square(t_f32)\n"
       "s = cast(s_f32, to=bf16)\n");
}

// Composites in functions are expanded as well.
TEST_CASE("decompose: functions") {
  Rewrites rewrites;
  const Module module = rewrites.decomposed(R"(
inputs: {x: "f32[8]"}
functions:
  layer:
    inputs: {h: "f32[8]"}
    nodes:
    - {op: silu, in: h, out: k}
    outputs: [k]
nodes:
- {call: layer, in: x, out: y, repeat: 2}
outputs: [y]
)");
  CHECK(text_of(module.functions[0]) == "k_gate = sigmoid(h)\nk = mul(h, k_gate)\n");
  CHECK(text_of(module.main) == "y = call(x)\n");
}

TEST_CASE("decompose: a composite that nothing reads gets a warning") {
  Rewrites rewrites;
  rewrites.decomposed(R"(
inputs: {x: "f32[8]"}
nodes:
- {op: neg, in: x, out: y}
- {op: silu, in: x, out: idle}
outputs: [y]
)");
  REQUIRE(rewrites.diagnostics.all().size() == 1);
  CHECK(rewrites.diagnostics.all()[0].message == "'idle' is never read");
  CHECK(rewrites.diagnostics.all()[0].where.line == 6);
}

// Rule: a cast takes what there is, and not an f32 that was made of it.
TEST_CASE("decompose: a cast of an operand of low precision") {
  Rewrites rewrites(R"(
ops:
- op: scaled
  kind: composite
  types: {T: float}
  operands: {x: T, factor: f32}
  results: {out: f32}
  expansion:
  - {op: cast, in: x, out: wide, to: f32}
  - {op: mul, in: [wide, factor], out: out}
)");
  CHECK(decomposed_text(rewrites, R"(
inputs: {x: "f8e4m3[5]", factor: "f32[5]"}
nodes:
- {op: scaled, in: [x, factor], out: y}
outputs: [y]
)",
                        true) ==
        "y_wide: f32[5] = cast(x, to=f32)\n"
        "y: f32[5] = mul(y_wide, factor)\n");
}

// Rule: "..." in a list of sizes stands for the extents that it has in the patterns, wherever it stands there.
TEST_CASE("decompose: the axes of an ellipsis") {
  Rewrites rewrites(R"(
ops:
- op: turn
  kind: composite
  types: {T: any}
  operands: {x: {type: T, shape: "[N, ..., D]"}}
  results: {out: {type: T, shape: "[D, N, ...]"}}
  expansion:
  - {op: reshape, in: x, out: out, shape: [D, N, ...]}
)");
  CHECK(decomposed_text(rewrites, R"(
dims: {M: 1..64}
inputs: {x: "f32[M, 5, 4, 6]", z: "f32[M, 7]"}
nodes:
- {op: turn, in: x, out: y}
- {op: turn, in: z, out: w}
outputs: [y, w]
)",
                        true) ==
        "y: f32[6, M, 5, 4] = reshape(x, shape=[6, M, 5, 4])\n"
        "w: f32[7, M] = reshape(z, shape=[7, M])\n");
  Rewrites broadcasting(R"(
ops:
- op: scaled_columns
  kind: composite
  types: {T: number}
  operands: {x: {type: T, shape: "[..., D]"}, y: {type: T, shape: "[..., D]"}}
  results: {out: {type: T, shape: "[D, ...]"}}
  expansion:
  - {op: mul, in: [x, y], out: scaled}
  - {op: reshape, in: scaled, out: out, shape: [D, ...]}
)");
  CHECK(decomposed_text(broadcasting, R"(
inputs: {x: "f32[3, 1, 8]", y: "f32[2, 1, 5, 8]"}
nodes:
- {op: scaled_columns, in: [x, y], out: z}
outputs: [z]
)",
                        true) ==
        "z_scaled: f32[2, 3, 5, 8] = mul(x, y)\n"
        "z: f32[8, 2, 3, 5] = reshape(z_scaled, shape=[8, 2, 3, 5])\n");
  CHECK(first_error(R"(
ops:
- op: turn
  kind: composite
  types: {T: any}
  operands: {x: {type: T, shape: "[N, D]"}, y: {type: T, shape: "[..., D]", optional: true}}
  results: {out: {type: T, shape: "[D, N]"}}
  expansion:
  - {op: reshape, in: x, out: out, shape: [..., D, N]}
)",
                    R"(
inputs: {x: "f32[5, 4]"}
nodes:
- {op: turn, in: x, out: y}
outputs: [y]
)") == "the expansion of 'turn': no operand that is given has '...' in its shape");
}

TEST_CASE("decompose: mistakes in specifications") {
  const auto spec = [](const std::string& expansion) {
    return R"(
ops:
- op: broken
  doc: A mistake.
  source: test
  kind: composite
  types: {T: float}
  operands: {x: T, y: {type: T, optional: true}}
  results: {out: T}
  attributes:
    axis: {type: integer, default: 0, doc: Axis.}
  expansion:
)" + expansion;
  };
  const std::string body =
      "dims: {M: 1..4}\ninputs: {x: \"f32[M, 8]\"}\nnodes:\n- {op: broken, in: x, out: y}\noutputs: [y]\n";
  CHECK(first_error(spec("  - {op: broken, in: x, out: out}\n"), body) ==
        "the expansion of 'broken' is more than 16 composites deep");
  CHECK(first_error(spec("  - {op: sum, in: x, out: out, axes: [$axis]}\n"), body) ==
        "the expansion of 'broken' makes 'out' a f32[8], but it must be a f32[M, 8]");
  CHECK(first_error(spec("  - {op: nothing_like_it, in: x, out: out}\n"), body) ==
        "the expansion of 'broken' uses an unknown operator 'nothing_like_it'");
  CHECK(first_error(spec("  - {op: neg, in: x, out: out, speed: 3}\n"), body) ==
        "the expansion of 'broken' gives 'neg' an unknown attribute 'speed'");
  CHECK(first_error(spec("  - {op: add, in: [x, y], out: out}\n"), body) ==
        "the expansion of 'broken' needs 'y' at 'add', but it was left out");
  CHECK(first_error(spec("  - {op: cast, in: x, out: out, to: f31}\n"), body) ==
        "the expansion of 'broken': 'f31' cannot be the value of 'to'");
  CHECK(first_error(spec("  - {op: slice, in: x, out: out, axis: [0, 1]}\n"), body) ==
        "the expansion of 'broken': '[0, 1]' cannot be the value of 'axis'");
  CHECK(first_error(spec("  - {op: slice, in: x, out: out, axis: 0, end: B / 2}\n"), body) ==
        "the expansion of 'broken': 'B / 2' is no size that is known here");
}

}  // namespace kgen
