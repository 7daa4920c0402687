// Equations over axes: what they mean, what is wrong with others, and what they become.
#include "generator/spec/contraction.hpp"

#include <doctest/doctest.h>

#include "tests/unit/infer_fixture.hpp"
#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {
namespace {

std::string problem_of(std::string_view text, const std::vector<Shape>& operands) {
  std::vector<std::size_t> ranks;
  for (const Shape& each : operands) ranks.push_back(each.size());
  std::string problem;
  const auto equation = read_equation(text, ranks, problem);
  if (equation) (void)shape_of(*equation, operands, problem);
  return problem;
}

// The nodes of one einsum, over inputs of these types.
std::string steps_of(const std::string& equation, const std::vector<std::string>& types) {
  std::string inputs, names;
  for (std::size_t i = 0; i < types.size(); ++i) {
    inputs += fmt::format("  x{}: \"{}\"\n", i, types[i]);
    names += fmt::format("{}x{}", i == 0 ? "" : ", ", i);
  }
  Rewrites rewrites;
  const Module module = rewrites.decomposed(
      fmt::format("dims: {{M: 1..64, N: 2..9}}\ninputs:\n{}nodes:\n- {{op: einsum, in: [{}], out: y, equation: \"{}\"}}\noutputs: [y]\n",
                  inputs, names, equation));
  REQUIRE_MESSAGE(!rewrites.diagnostics.has_errors(), rewrites.diagnostics.text(false));
  check_consistent(module.main);
  return text_of(module.main, true);
}

}  // namespace

TEST_CASE("contraction: what is no equation, or does not fit its operands") {
  const Shape plane{4, 5}, line{5};
  CHECK(problem_of("ij,j->i", {plane, line}).empty());
  CHECK(problem_of("ij->i", {plane, line}) == "it has 1 term, and there are 2 operands");
  CHECK(problem_of("i,j", {line}) == "it has 2 terms, and there is 1 operand");
  CHECK(problem_of("i->i", {plane}) == "term 1 names 1 axes, and the operand has 2");
  CHECK(problem_of("ijk...->i", {plane}) == "term 1 names at least 3 axes, and the operand has 2");
  CHECK(problem_of("i1->i", {plane}) == "'1' is no label: labels are letters");
  CHECK(problem_of("......->", {plane}) == "'...' stands twice in a term");
  CHECK(problem_of("ij->ik", {plane}) == "no operand has the result's 'k'");
  CHECK(problem_of("ij->ii", {plane}) == "the result has 'i' twice");
  CHECK(problem_of("ij->i->j", {plane}) == "'-' is no label: labels are letters");
  CHECK(problem_of("ii->i", {plane}) == "'i' is 4 and 5");
  CHECK(problem_of("i...,...->...", {plane, {3}}) == "an axis of '...' is 5 and 3");
}

// Rule: a pair that shares what is summed, and has axes of its own on either side, is a matrix product of views.
TEST_CASE("contraction: products of matrices") {
  CHECK(steps_of("mk,kn->mn", {"f32[M, 7]", "f32[7, 9]"}) == "y: f32[M, 9] = matmul(x0, x1)\n");
  CHECK(steps_of("bij, bkj -> bik", {"bf16[3, M, 7]", "bf16[3, N, 7]"}) ==
        "y_transpose: bf16[3, 7, N] = transpose(x1, perm=[0, 2, 1])\n"
        "y: bf16[3, M, N] = matmul(x0, y_transpose)\n");
  // The result's first axis is the second operand's.
  CHECK(steps_of("mk,kn->nm", {"f32[M, 7]", "f32[7, 9]"}) ==
        "y_transpose: f32[9, 7] = transpose(x1, perm=[1, 0])\n"
        "y_transpose_2: f32[7, M] = transpose(x0, perm=[1, 0])\n"
        "y: f32[9, M] = matmul(y_transpose, y_transpose_2)\n");
  // Several axes of a kind are one.
  CHECK(steps_of("abc,bcd->ad", {"f32[4, M, 3]", "f32[M, 3, 5]"}) ==
        "y_reshape: f32[4, 3*M] = reshape(x0, shape=[4, 3*M])\n"
        "y_reshape_2: f32[3*M, 5] = reshape(x1, shape=[3*M, 5])\n"
        "y: f32[4, 5] = matmul(y_reshape, y_reshape_2)\n");
}

// Rule: others are multiplied, and summed where they share what nothing else needs; so are those of other dtypes.
TEST_CASE("contraction: products element by element") {
  CHECK(steps_of("i,i->", {"f32[M]", "f32[M]"}) ==
        "y_mul: f32[M] = mul(x0, x1)\n"
        "y: f32[] = sum(y_mul, axes=[0], keepdims=false)\n");
  CHECK(steps_of("i,j->ij", {"f32[4]", "f32[5]"}) ==
        "y_reshape: f32[4, 1] = reshape(x0, shape=[4, 1])\n"
        "y: f32[4, 5] = mul(y_reshape, x1)\n");
  CHECK(steps_of("...,...j", {"f32[3, 1]", "f32[4, 5]"}) ==
        "y_reshape: f32[3] = reshape(x0, shape=[3])\n"
        "y_reshape_2: f32[3, 1, 1] = reshape(y_reshape, shape=[3, 1, 1])\n"
        "y: f32[3, 4, 5] = mul(y_reshape_2, x1)\n");
  CHECK(steps_of("mk,kn->mn", {"i16[M, 7]", "i16[7, 9]"}) ==
        "y_reshape: i16[M, 1, 7] = reshape(x0, shape=[M, 1, 7])\n"
        "y_transpose: i16[9, 7] = transpose(x1, perm=[1, 0])\n"
        "y_mul: i16[M, 9, 7] = mul(y_reshape, y_transpose)\n"
        "y: i16[M, 9] = sum(y_mul, axes=[2], keepdims=false)\n");
}

// Rule: a label that stands twice in an operand is its diagonal, one that stands in one operand alone is summed first,
// and an equation that says nothing new is a view.
TEST_CASE("contraction: an operator with one is no view, whatever looks for one by its form") {
  const Rewrites rewrites;
  const OpSpec* op = rewrites.ops.find("einsum");
  REQUIRE(op != nullptr);
  CHECK_FALSE(op->view);
  REQUIRE(op->contraction);
  CHECK(op->contraction->equation == "equation");
  CHECK(op->contraction->operators.at(ContractionRule::Part::product) == "matmul");
  CHECK(op->contraction->operators.size() == names_of<ContractionRule::Part>.size());
}

TEST_CASE("contraction: one operand") {
  CHECK(steps_of("ij->ij", {"f32[M, 3]"}) == "y: f32[M, 3] = reshape(x0, shape=[M, 3])\n");
  CHECK(steps_of("ba", {"f32[M, 3]"}) == "y: f32[3, M] = transpose(x0, perm=[1, 0])\n");
  CHECK(steps_of("ij->j", {"f32[M, 3]"}) == "y: f32[3] = sum(x0, axes=[0], keepdims=false)\n");
  CHECK(steps_of("bii->bi", {"f32[M, 4, 4]"}) ==
        "y_reshape: f32[M, 16] = reshape(x0, shape=[M, 16])\n"
        "y: f32[M, 4] = slice(y_reshape, axis=-1, begin=0, end=16, step=5)\n");
  const std::string trace = steps_of("ii", {"f32[N, N]"});
  CHECK(trace.find("= gather(x0") != std::string::npos);
  CHECK(trace.find("y: f32[] = sum(") != std::string::npos);
}

TEST_CASE("contraction: an equation that does not fit is an error of the node") {
  const std::string text = test::problems_of(
      "graph: g\ninputs: {a: \"f32[4, 5]\", b: \"f32[6, 2]\"}\nnodes:\n- {op: einsum, in: [a, b], out: y, equation: \"ij,jk->ik\"}\noutputs: [y]\n");
  CHECK(text.find("einsum: the equation 'ij,jk->ik' does not fit: 'j' is 5 and 6") != std::string::npos);
  CHECK(text.find("note: operand 2 is 'b' (f32[6, 2])") != std::string::npos);
}

}  // namespace kgen
