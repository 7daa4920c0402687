// What is only read in parts is computed in parts.
#include "generator/pass/simplify/compute_parts.hpp"

#include <doctest/doctest.h>

#include <ctime>

#include "generator/explain/dump.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

const std::string plain_product = "- {op: matmul, in: [x, w], out: y}\n";

// The nodes that are left of a graph over x[M, 8] and w[8, 12], each as "made = op(read)".
std::string parts_of(const std::string& nodes, const std::string& outputs, const std::string& more = "", int several = 4,
                     const std::string& dtype = "f32", const std::string& product = plain_product) {
  Fixture f;
  for (KernelSignature& kernel : f.ops.kernels) {
    if (kernel.op == "matmul") kernel.operands[1].several = several;
  }
  const Module module = f.with_parts("graph: g\ndims: {M: 1..9}\ninputs: {x: \"f32[M, 8]\", free: \"f32[8, 12]\"}\nconstants:\n"
                            "  w: {type: \"" + dtype + "[8, 12]\", file: w.safetensors, key: w}\n"
                            "  bias: {type: \"f32[12]\", file: w.safetensors, key: b}\n"
                            "nodes:\n" +
                            product + nodes + "outputs: [" + outputs + "]\n" + more);
  REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  std::string text;
  for (const Node& node : module.main.nodes) {
    const std::string type = to_text(module.main.type(node.outputs[0]));
    text += module.main.value(node.outputs[0]).name + type.substr(type.find('[')) + " = " + node.op->name + "(";
    for (const ValueId input : node.inputs) text += (text.back() == '(' ? "" : ", ") + module.main.value(input).name;
    text += ")\n";
  }
  return text;
}

// Nothing was done: the product is whole.
bool whole(const std::string& text) { return text.starts_with("y[M, 12] = matmul(x, w)\n"); }

const std::string halves =
    "- {op: slice, in: y, out: a, axis: 1, end: 6}\n- {op: slice, in: y, out: b, axis: 1, begin: 6}\n";
const std::string gated = halves + "- {op: silu, in: a, out: s}\n- {op: mul, in: [s, b], out: z}\n";

}  // namespace

TEST_CASE("parts: two halves of a product are two products, of columns of its weight") {
  CHECK(parts_of(gated, "z") ==
        "w_a[8, 6] = slice(w)\na[M, 6] = matmul(x, w_a)\n"
        "w_b[8, 6] = slice(w)\nb[M, 6] = matmul(x, w_b)\n"
        "s[M, 6] = silu(a)\nz[M, 6] = mul(s, b)\n");
}

TEST_CASE("parts: of an axis that a reshape sees as several, the columns are gathered") {
  CHECK(parts_of("- {op: reshape, in: y, out: heads, shape: [M, 3, 4]}\n"
                 "- {op: slice, in: heads, out: first, axis: -1, end: 2}\n"
                 "- {op: slice, in: heads, out: second, axis: -1, begin: 2}\n"
                 "- {op: sub, in: [first, second], out: z}\n",
                 "z") ==
        "w_first[8, 3, 4] = reshape(w)\nw_first_2[8, 3, 2] = slice(w_first)\n"
        "w_first_3[8, 6] = reshape(w_first_2)\nfirst_flat[M, 6] = matmul(x, w_first_3)\n"
        "w_second[8, 3, 4] = reshape(w)\nw_second_2[8, 3, 2] = slice(w_second)\n"
        "w_second_3[8, 6] = reshape(w_second_2)\nsecond_flat[M, 6] = matmul(x, w_second_3)\n"
        "first[M, 3, 2] = reshape(first_flat)\nsecond[M, 3, 2] = reshape(second_flat)\nz[M, 3, 2] = sub(first, second)\n");
}

TEST_CASE("parts: through what is added to the product; an operand of one column is that of each part") {
  CHECK(parts_of("- {op: add, in: [y, bias], out: biased}\n- {op: mul, in: [biased, 2], out: twice}\n"
                 "- {op: slice, in: twice, out: a, axis: 1, end: 8}\n- {op: slice, in: twice, out: b, axis: 1, begin: 8}\n"
                 "- {op: relu, in: a, out: p}\n- {op: neg, in: b, out: q}\n",
                 "p, q") ==
        "w_a[8, 8] = slice(w)\ny_a[M, 8] = matmul(x, w_a)\nbias_a[8] = slice(bias)\n"
        "biased_a[M, 8] = add(y_a, bias_a)\na[M, 8] = mul(biased_a, constant_0)\n"
        "w_b[8, 4] = slice(w)\ny_b[M, 4] = matmul(x, w_b)\nbias_b[4] = slice(bias)\n"
        "biased_b[M, 4] = add(y_b, bias_b)\nb[M, 4] = mul(biased_b, constant_0)\n"
        "p[M, 8] = relu(a)\nq[M, 4] = neg(b)\n");
}

TEST_CASE("parts: of a weight that is widened, parts of what is narrow are") {
  CHECK(parts_of(gated, "z", "", 4, "bf16", "- {op: cast, in: w, out: wide, to: f32}\n- {op: matmul, in: [x, wide], out: y}\n")
            .find("w_a[8, 6] = slice(w)\nwide_a[8, 6] = cast(w_a)\na[M, 6] = matmul(x, wide_a)\n"
                  "w_b[8, 6] = slice(w)\nwide_b[8, 6] = cast(w_b)\nb[M, 6] = matmul(x, wide_b)\n") != std::string::npos);
}

TEST_CASE("parts: a part of a part, and one that is read in two ways") {
  CHECK(parts_of("- {op: reshape, in: y, out: h, shape: [M, 3, 4]}\n- {op: select, in: h, out: p, axis: 1, index: 0}\n"
                 "- {op: select, in: h, out: q, axis: 1, index: 1}\n- {op: relu, in: p, out: z}\n"
                 "- {op: slice, in: q, out: low, axis: 1, end: 2}\n- {op: slice, in: q, out: high, axis: 1, begin: 2}\n"
                 "- {op: mul, in: [low, high], out: v}\n- {op: slice, in: p, out: some, axis: 1, end: 1}\n"
                 "- {op: neg, in: some, out: u}\n",
                 "z, v, u")
            .find("p[M, 4] = matmul(x, w_p_3)\n") != std::string::npos);
}

TEST_CASE("parts: the whole stays where it is read, kept or named, where parts overlap or nothing is gained") {
  CHECK(whole(parts_of(gated + "- {op: neg, in: y, out: n}\n", "z, n")));
  CHECK(whole(parts_of(gated, "z, y")));
  CHECK(whole(parts_of(gated, "z", "fusion: {forbid: [[y, z]]}\n")));
  CHECK(whole(parts_of(gated, "z", "fusion: {forbid: [[a, z]]}\n")));
  CHECK(whole(parts_of(gated, "z", "", 1)));
  CHECK(whole(parts_of("- {op: slice, in: y, out: a, axis: 1, end: 7}\n- {op: slice, in: y, out: b, axis: 1, begin: 5}\n"
                       "- {op: relu, in: a, out: p}\n- {op: neg, in: b, out: q}\n",
                       "p, q")));
  CHECK(whole(parts_of("- {op: slice, in: y, out: a, axis: 0, end: 1}\n- {op: relu, in: a, out: p}\n", "p")));
  CHECK(whole(parts_of("- {op: slice, in: y, out: a, axis: 1, end: 7}\n- {op: relu, in: a, out: p}\n", "p")));
  CHECK(whole(parts_of("- {op: slice, in: y, out: a, axis: 1, end: 12, step: 2}\n"
                       "- {op: slice, in: y, out: b, axis: 1, begin: 1, end: 12, step: 2}\n"
                       "- {op: mul, in: [a, b], out: p}\n",
                       "p")));
  CHECK(whole(parts_of(halves + "- {op: cumsum, in: a, out: p, axis: 0}\n- {op: cumsum, in: b, out: q, axis: 0}\n", "p, q")));
  CHECK(parts_of("- {op: matmul, in: [x, free], out: f}\n- {op: slice, in: f, out: a, axis: 1, end: 6}\n"
                 "- {op: slice, in: f, out: b, axis: 1, begin: 6}\n- {op: mul, in: [a, b], out: z}\n",
                 "z, y")
            .find("f[M, 12] = matmul(x, free)\n") != std::string::npos);
}

// Each node of a chain was one to walk all of it from.
TEST_CASE("parts: a chain of 40,000 nodes in linear time") {
  std::string nodes = "graph: g\ninputs: {x: \"f32[8]\"}\nnodes:\n", last = "x";
  for (int i = 0; i < 40'000; ++i) {
    nodes +=
        "- {op: " + std::string(i % 2 == 0 ? "tanh" : "exp") + ", in: " + last + ", out: y" + std::to_string(i) + "}\n";
    last = "y" + std::to_string(i);
  }
  Fixture f;
  Module module = f.with_parts(nodes + "outputs: [" + last + "]\n");
  const std::clock_t begin = std::clock();
  module = compute_parts(std::move(module), f.ops);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  MESSAGE("compute_parts of a chain of 40,000 nodes: " << seconds << " s");
  CHECK(module.main.nodes.size() == 40'000);
  CHECK(seconds < 1.0);  // it took 30
}
