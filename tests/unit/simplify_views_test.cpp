// The rewrites of simplify that concern views.
#include <doctest/doctest.h>

#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {

// ---- simplify_views -------------------------------------------------------------------------------------------------

// Rule: a view that shows its operand as it is -> its operand.
TEST_CASE("simplify: views that change nothing are dropped") {
  const auto of = [](const std::string& view) {
    return simplified_nodes("- " + view + "\n- {op: sum, in: v, out: y, axes: [0]}\n");
  };
  const std::string dropped = "y = sum(x, axes=[0], keepdims=false)\n";
  CHECK(of("{op: transpose, in: x, out: v, perm: [0, 1]}") == dropped);
  CHECK(of("{op: reshape, in: x, out: v, shape: [M, 8]}") == dropped);
  CHECK(of("{op: broadcast_to, in: x, out: v, shape: [M, 8]}") == dropped);
  CHECK(of("{op: slice, in: x, out: v, axis: 0, begin: 0, end: M}") == dropped);
  CHECK(of("{op: concat, in: [x], out: v, axis: 0}") == dropped);
  CHECK(of("{op: transpose, in: x, out: v, perm: [1, 0]}") != dropped);
  CHECK(of("{op: slice, in: x, out: v, axis: 1, begin: 0, end: 7}") != dropped);
  CHECK(of("{op: flip, in: x, out: v, axis: 0}") != dropped);
}

// Rule: a view of a view -> one view.
TEST_CASE("simplify: views of views are merged") {
  const auto of = [](const std::string& first, const std::string& second) {
    const std::string text =
        simplified_text("dims: {M: 4..64}\ninputs: {x: \"f32[M, 8, 3]\"}\nnodes:\n- {op: " + first +
                        ", in: x, out: v}\n- {op: " + second +
                        ", in: v, out: w}\n- {op: argmax, in: w, out: y, axes: [0]}\noutputs: [y]\n");
    return text.substr(0, text.find("y = "));
  };
  CHECK(of("transpose, perm: [1, 2, 0]", "transpose, perm: [1, 2, 0]") == "w = transpose(x, perm=[2, 0, 1])\n");
  CHECK(of("transpose, perm: [1, 2, 0]", "transpose, perm: [2, 0, 1]") == "");
  CHECK(of("reshape, shape: [M, 24]", "reshape, shape: [M, 3, 8]") == "w = reshape(x, shape=[M, 3, 8])\n");
  CHECK(of("reshape, shape: [8*M, 3]", "reshape, shape: [M, 8, 3]") == "");
  CHECK(of("slice, axis: 0, begin: 1, end: M", "slice, axis: 0, begin: 1, end: 3") ==
        "w = slice(x, axis=0, begin=2, end=4, step=1)\n");
  CHECK(of("slice, axis: 1, begin: 1, end: 8, step: 2", "slice, axis: 1, begin: 1, end: 4, step: 2") ==
        "w = slice(x, axis=1, begin=3, end=8, step=4)\n");
  CHECK(of("slice, axis: 1, begin: 2, end: 8, step: 3", "select, axis: 1, index: 1") ==
        "w = select(x, axis=1, index=5)\n");
  CHECK(of("slice, axis: 1, begin: 2, end: 3", "squeeze, axis: 1") == "w = select(x, axis=1, index=2)\n");
  CHECK(of("flip, axis: 1", "flip, axis: 1") == "");
  CHECK(of("unsqueeze, axis: 1", "squeeze, axis: 1") == "");
  CHECK(of("unsqueeze, axis: 1", "reshape, shape: [8*M, 3]") == "w = reshape(x, shape=[8*M, 3])\n");
  CHECK(of("broadcast_to, shape: [2, M, 8, 3]", "broadcast_to, shape: [5, 2, M, 8, 3]") ==
        "w = broadcast_to(x, shape=[5, 2, M, 8, 3])\n");
  // Two that only add axes need no dense memory, and stay; slices of two axes cannot be one.
  CHECK(of("unsqueeze, axis: 0", "unsqueeze, axis: 0") == "v = unsqueeze(x, axis=0)\nw = unsqueeze(v, axis=0)\n");
  CHECK(of("slice, axis: 0, begin: 1, end: 3", "slice, axis: 1, begin: 1, end: 3") ==
        "v = slice(x, axis=0, begin=1, end=3, step=1)\nw = slice(v, axis=1, begin=1, end=3, step=1)\n");
}

// Rule: a slice or select, along its axis, of a concatenation, that shows elements of one part -> one of that part.
TEST_CASE("simplify: what shows one part of a concatenation reads that part") {
  const auto of = [](const std::string& view) {
    const std::string text = simplified_text(
        "dims: {M: 4..64}\ninputs: {a: \"f32[M, 8]\", b: \"f32[M, 5]\", c: \"f32[M, M]\"}\nnodes:\n"
        "- {op: concat, in: [a, b, c], out: v, axis: 1}\n- {op: " +
        view + ", in: v, out: w}\n- {op: argmax, in: w, out: y, axes: [0]}\noutputs: [y]\n");
    return text.substr(0, text.find("y = "));
  };
  const std::string whole = "v = concat(a, b, c, axis=1)\n";
  CHECK(of("select, axis: 1, index: 7") == "w = select(a, axis=1, index=7)\n");
  CHECK(of("select, axis: 1, index: 8") == "w = select(b, axis=1, index=0)\n");
  CHECK(of("slice, axis: 1, begin: 9, end: 13, step: 3") == "w = slice(b, axis=1, begin=1, end=5, step=3)\n");
  CHECK(of("slice, axis: 1, begin: 8, end: 13") == "");
  CHECK(of("slice, axis: 1, begin: 13, end: M+13") == "");
  CHECK(of("slice, axis: 1, begin: 13") == "");
  CHECK(of("slice, axis: 1, begin: 7, end: 9") == whole + "w = slice(v, axis=1, begin=7, end=9, step=1)\n");
  CHECK(of("slice, axis: 1, begin: 14, end: M+13") == whole + "w = slice(v, axis=1, begin=14, end=M + 13, step=1)\n");
  CHECK(of("slice, axis: 0, begin: 1, end: 3") == whole + "w = slice(v, axis=0, begin=1, end=3, step=1)\n");
}

// Rule: parts of a concatenation that are slices of one value, one behind the other, and together all of it -> that
// value.
TEST_CASE("simplify: what is taken apart and joined again is not taken apart") {
  const auto of = [](const std::string& first, const std::string& second, const std::string& parts) {
    const std::string text = simplified_text(
        "dims: {M: 4..64}\ninputs: {a: \"f32[M, 8]\", b: \"f32[M, 5]\"}\nnodes:\n- {op: slice, in: a, axis: 1, " +
        first + ", out: f}\n- {op: slice, in: a, axis: 1, " + second + ", out: s}\n- {op: concat, in: [" + parts +
        "], out: v, axis: 1}\n- {op: argmax, in: v, out: y, axes: [0]}\noutputs: [y]\n");
    return text.substr(0, text.find("y = "));
  };
  CHECK(of("end: 3", "begin: 3", "f, s") == "");
  CHECK(of("end: 3", "begin: 3", "b, f, s") == "v = concat(b, a, axis=1)\n");
  CHECK(of("end: 3", "begin: 3", "f, s, b, f, s") == "v = concat(a, b, a, axis=1)\n");
  for (const auto* parts : {"s, f", "f, b, s", "f, f"}) CHECK(of("end: 3", "begin: 3", parts).find("= slice(a") < 200);
  CHECK(of("end: 3", "begin: 4", "f, s").find("= slice(a") < 200);
  CHECK(of("begin: 1, end: 3", "begin: 3", "f, s").find("= slice(a") < 200);
}

// Rule: a reshape that only adds or drops one axis of extent 1 -> unsqueeze, squeeze.
TEST_CASE("simplify: reshapes by one axis of extent 1") {
  const auto of = [](const std::string& type, const std::string& shape) {
    const std::string text = simplified_text("dims: {M: 4..64}\ninputs: {x: \"f32" + type + "\"}\nnodes:\n" +
                                             "- {op: reshape, in: x, out: v, shape: " + shape + "}\n" +
                                             "- {op: argmax, in: v, out: y, axes: [0]}\noutputs: [y]\n");
    return text.substr(0, text.find("y = "));
  };
  CHECK(of("[M, 8]", "[M, 1, 8]") == "v = unsqueeze(x, axis=1)\n");
  CHECK(of("[M, 8]", "[M, 8, 1]") == "v = unsqueeze(x, axis=2)\n");
  CHECK(of("[1, M, 8]", "[M, 8]") == "v = squeeze(x, axis=0)\n");
  CHECK(of("[M, 2, 4]", "[M, 8]") == "v = reshape(x, shape=[M, 8])\n");
  CHECK(of("[M, 8]", "[1, M, 1, 8]") == "v = reshape(x, shape=[1, M, 1, 8])\n");
}

// Rule: an elementwise operand that is broadcast no further than the operator itself would -> the operand before that.
TEST_CASE("simplify: broadcasts that their reader would do") {
  CHECK(simplified_nodes("- {op: broadcast_to, in: b, out: v, shape: [M, 8]}\n- {op: add, in: [x, v], out: y}\n") ==
        "y = add(x, b)\n");
  CHECK(simplified_nodes("- {op: broadcast_to, in: b, out: v, shape: [M, 8]}\n- {op: add, in: [b, v], out: y}\n") ==
        "v = broadcast_to(b, shape=[M, 8])\ny = add(b, v)\n");
  CHECK(simplified_nodes("- {op: broadcast_to, in: b, out: v, shape: [M, 8]}\n- {op: add, in: [v, v], out: y}\n") ==
        "v = broadcast_to(b, shape=[M, 8])\ny = add(v, v)\n");
}

// ---- pull_views -----------------------------------------------------------------------------------------------------

// Rule: a view of an elementwise result that nothing else reads moves in front of the elementwise node.
TEST_CASE("simplify: views move in front of elementwise nodes") {
  CHECK(simplified_nodes("- {op: add, in: [x, z], out: a}\n- {op: exp, in: a, out: c}\n"
                         "- {op: transpose, in: c, out: v, perm: [1, 0]}\n- {op: neg, in: v, out: y}\n",
                         "") ==
        "x_permuted = transpose(x, perm=[1, 0])\nz_permuted = transpose(z, perm=[1, 0])\n"
        "a = add(x_permuted, z_permuted)\nv = exp(a)\ny = neg(v)\n");
  // An operand that is read twice is viewed once.
  CHECK(simplified_nodes("- {op: mul, in: [x, x], out: a}\n- {op: flip, in: a, out: v, axis: 0}\n"
                         "- {op: neg, in: v, out: y}\n") ==
        "x_flipped = flip(x, axis=0)\nv = mul(x_flipped, x_flipped)\ny = neg(v)\n");
}

// A permute also goes through elementwise nodes that several read, where these lead to one value again.
TEST_CASE("simplify: transposes move in front of what several elementwise nodes read") {
  const std::string silu =
      "- {op: exp, in: x, out: e}\n- {op: sigmoid, in: e, out: g}\n- {op: mul, in: [e, g], out: a}\n";
  const std::string view = "- {op: transpose, in: a, out: v, perm: [1, 0]}\n- {op: neg, in: v, out: y}\n";
  CHECK(simplified_nodes(silu + view) ==
        "x_permuted = transpose(x, perm=[1, 0])\ne = exp(x_permuted)\ng = sigmoid(e)\nv = mul(e, g)\ny = neg(v)\n");
  // Two such values, one in the other's way.
  CHECK(simplified_nodes(silu + "- {op: tanh, in: g, out: t}\n- {op: add, in: [a, t], out: h}\n"
                                "- {op: transpose, in: h, out: v, perm: [1, 0]}\n- {op: neg, in: v, out: y}\n") ==
        "x_permuted = transpose(x, perm=[1, 0])\ne = exp(x_permuted)\ng = sigmoid(e)\na = mul(e, g)\n"
        "t = tanh(g)\nv = add(a, t)\ny = neg(v)\n");
  const auto stays = [&](const std::string& nodes) {
    return simplified_nodes(nodes + view).find("v = transpose(a") != std::string::npos;
  };
  // What is read beside them, or by what has other axes, stays, and so do all.
  CHECK(
      stays("- {op: exp, in: x, out: e}\n- {op: sigmoid, in: e, out: g}\n- {op: sum, in: g, out: other, axes: []}\n"
            "- {op: mul, in: [e, g], out: h}\n- {op: mul, in: [h, other], out: a}\n"));
  CHECK(
      stays("- {op: exp, in: x, out: e}\n- {op: sum, in: e, out: m, axes: [1], keepdims: true}\n"
            "- {op: mul, in: [e, m], out: a}\n"));
  // Other views than a permute.
  CHECK(simplified_nodes(silu + "- {op: flip, in: a, out: v, axis: 0}\n- {op: neg, in: v, out: y}\n").find("flip(a") !=
        std::string::npos);
}

// What is read in parts alone is computed in parts.
TEST_CASE("simplify: an elementwise node is computed for each part that its readers see") {
  const auto simplified = [](const std::string& nodes, const std::string& outputs = "y") {
    return simplified_text("inputs: {x: \"u8[4, 6, 3]\", b: \"f32[3]\", s: \"f32[4, 1, 1]\"}\nnodes:\n" + nodes +
                           "outputs: [" + outputs + "]\n");
  };
  const std::string cast = "- {op: cast, in: x, out: e, to: f32}\n";
  const std::string red = "- {op: select, in: e, out: r, axis: 2, index: 0}\n";
  const std::string blue = "- {op: select, in: e, out: t, axis: 2, index: 2}\n";
  const std::string sum = "- {op: add, in: [r, t], out: y}\n";
  CHECK(simplified(cast + red + blue + sum) ==
        "x_r = select(x, axis=2, index=0)\nr = cast(x_r, to=f32)\nx_t = select(x, axis=2, index=2)\n"
        "t = cast(x_t, to=f32)\ny = add(r, t)\n");
  // Through a chain of them, whose other operands are viewed by what they have.
  CHECK(simplified(cast +
                   "- {op: mul, in: [e, b], out: m}\n- {op: add, in: [m, s], out: a}\n"
                   "- {op: slice, in: a, out: r, axis: 2, begin: 0, end: 1}\n"
                   "- {op: slice, in: a, out: t, axis: 2, begin: 2, end: 3}\n" +
                   sum) ==
        "x_r = slice(x, axis=2, begin=0, end=1, step=1)\ne_r = cast(x_r, to=f32)\n"
        "x_t = slice(x, axis=2, begin=2, end=3, step=1)\ne_t = cast(x_t, to=f32)\n"
        "b_r = slice(b, axis=0, begin=0, end=1, step=1)\nm_r = mul(e_r, b_r)\n"
        "b_t = slice(b, axis=0, begin=2, end=3, step=1)\nm_t = mul(e_t, b_t)\n"
        "r = add(m_r, s)\nt = add(m_t, s)\ny = add(r, t)\n");
  // Behind another view.
  CHECK(simplified("- {op: flip, in: x, out: f, axis: 0}\n- {op: cast, in: f, out: e, to: f32}\n" + red + blue + sum) ==
        "f = flip(x, axis=0)\nf_r = select(f, axis=2, index=0)\nr = cast(f_r, to=f32)\n"
        "f_t = select(f, axis=2, index=2)\nt = cast(f_t, to=f32)\ny = add(r, t)\n");
  const auto stays = [&](const std::string& nodes, const std::string& outputs = "y") {
    return simplified(nodes, outputs).find("e = cast(x") != std::string::npos;
  };
  CHECK_FALSE(stays(cast + red + blue + sum));
  // One element twice, a reader of the whole, an observed part, and parts of other axes.
  CHECK(stays(cast +
              "- {op: slice, in: e, out: r, axis: 2, begin: 0, end: 2}\n"
              "- {op: slice, in: e, out: t, axis: 2, begin: 1, end: 3}\n" +
              sum));
  CHECK(stays(cast + red + blue + sum + "- {op: neg, in: e, out: z}\n", "y, z"));
  CHECK(stays(cast + red + blue + sum, "y, e"));
  CHECK(stays(cast + red + blue + sum, "y, r"));
  CHECK(stays(cast + red +
                  "- {op: select, in: e, out: q, axis: 1, index: 2}\n- {op: neg, in: r, out: y}\n"
                  "- {op: neg, in: q, out: z}\n",
              "y, z"));
  // A part that something else than a loop of its shape reads.
  CHECK(stays(cast + red + blue +
              "- {op: sum, in: r, out: m, axes: [1], keepdims: true}\n- {op: mul, in: [m, t], out: y}\n"));
  CHECK(stays(cast + red + blue + "- {op: add, in: [e, b], out: w}\n- {op: mul, in: [r, t], out: y}\n", "y, w"));
}

// An operand without the axis, or with extent 1 along it, is left alone or loses or gains that axis only.
TEST_CASE("simplify: operands that broadcast are viewed by what they have") {
  const auto of = [](const std::string& operand, const std::string& view) {
    const std::string text = simplified_text("dims: {M: 4..64}\ninputs: {x: \"f32[M, 8, 3]\", b: \"f32" + operand +
                                             "\"}\nnodes:\n- {op: add, in: [x, b], out: a}\n- {op: " + view +
                                             ", in: a, out: v}\n- {op: neg, in: v, out: y}\noutputs: [y]\n");
    const auto begin = text.find("b_");
    return begin > text.find("v = add") ? "" : text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK(of("[3]", "slice, axis: 0, begin: 1, end: 3") == "");
  CHECK(of("[3]", "slice, axis: 2, begin: 1, end: 3") == "b_sliced = slice(b, axis=0, begin=1, end=3, step=1)");
  CHECK(of("[8, 1]", "slice, axis: 2, begin: 1, end: 3") == "");
  CHECK(of("[8, 1]", "slice, axis: 1, begin: 1, end: 3") == "b_sliced = slice(b, axis=0, begin=1, end=3, step=1)");
  CHECK(of("[8, 1]", "select, axis: 2, index: 1") == "b_squeezed = squeeze(b, axis=1)");
  CHECK(of("[8, 1]", "select, axis: 1, index: 4") == "b_selected = select(b, axis=0, index=4)");
  CHECK(of("[3]", "flip, axis: 2") == "b_flipped = flip(b, axis=0)");
  CHECK(of("[8, 1]", "flip, axis: 2") == "");
  CHECK(of("[3]", "unsqueeze, axis: 1") == "");
  CHECK(of("[8, 3]", "unsqueeze, axis: 2") == "b_unsqueezed = unsqueeze(b, axis=1)");
  CHECK(of("[3]", "unsqueeze, axis: 3") == "b_unsqueezed = unsqueeze(b, axis=1)");
  CHECK(of("[8, 3]", "transpose, perm: [0, 2, 1]") == "b_permuted = transpose(b, perm=[1, 0])");
  CHECK(of("[3]", "transpose, perm: [0, 2, 1]") == "b_unsqueezed = unsqueeze(b, axis=1)");
  CHECK(of("[3]", "transpose, perm: [1, 0, 2]") == "");
  CHECK(of("[]", "transpose, perm: [1, 0, 2]") == "");
}

// Reshape only where every operand has the full shape or is a scalar, and is dense.
TEST_CASE("simplify: reshapes move where all operands have the full shape and are dense") {
  const std::string reshape = "- {op: reshape, in: a, out: v, shape: [2*M, 4]}\n- {op: neg, in: v, out: y}\n";
  CHECK(simplified_nodes("- {op: add, in: [x, s], out: a}\n" + reshape) ==
        "x_reshaped = reshape(x, shape=[2*M, 4])\nv = add(x_reshaped, s)\ny = neg(v)\n");
  CHECK(simplified_nodes("- {op: add, in: [x, b], out: a}\n" + reshape) ==
        "a = add(x, b)\nv = reshape(a, shape=[2*M, 4])\ny = neg(v)\n");
  CHECK(simplified_text("dims: {M: 0..64}\ninputs: {x: {type: \"f32[M, 8]\", strided: true}}\nnodes:\n"
                        "- {op: exp, in: x, out: a}\n" +
                        reshape + "outputs: [y]\n") == "a = exp(x)\nv = reshape(a, shape=[2*M, 4])\ny = neg(v)\n");
}

// All the way or not at all: until each operand is memory, through nodes that nothing else reads.
TEST_CASE("simplify: views stay where they cannot reach memory") {
  const std::string view = "- {op: transpose, in: a, out: v, perm: [1, 0]}\n- {op: neg, in: v, out: y}\n";
  const auto stays = [&](const std::string& nodes) {
    return simplified_nodes(nodes + view).find("v = transpose(a") != std::string::npos;
  };
  CHECK_FALSE(stays("- {op: exp, in: x, out: a}\n"));
  CHECK(stays("- {op: sum, in: x, out: m, axes: [1], keepdims: true}\n- {op: sub, in: [x, m], out: a}\n"));
  CHECK(
      stays("- {op: exp, in: x, out: e}\n- {op: sum, in: e, out: m, axes: []}\n"
            "- {op: mul, in: [e, m], out: a}\n"));
  // Two readers.
  CHECK(simplified_nodes("- {op: exp, in: x, out: a}\n- {op: transpose, in: a, out: v, perm: [1, 0]}\n"
                         "- {op: matmul, in: [v, a], out: y}\n") ==
        "a = exp(x)\nv = transpose(a, perm=[1, 0])\ny = matmul(v, a)\n");
  // Behind a structured kernel, whose epilogue the elementwise node may be.
  CHECK(simplified_text(R"(
inputs: {x: "f32[4, 8]", w: "f32[8, 4]"}
nodes:
- {op: matmul, in: [x, w], out: p}
- {op: relu, in: p, out: a}
- {op: transpose, in: a, out: v, perm: [1, 0]}
- {op: neg, in: v, out: y}
outputs: [y]
)") == "p = matmul(x, w)\na = relu(p)\nv = transpose(a, perm=[1, 0])\ny = neg(v)\n");
}

}  // namespace kgen
