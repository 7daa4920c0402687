// What an equation over the axes of tensors asks for, such as "bij,bjk->bik": Einstein's summation, as NumPy's einsum
// has it, and the steps that compute it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/contraction_rule.hpp"
#include "generator/model/dim.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// The axes of operands and of the result by their labels: a letter is its code, and the axis that is i-th from the last
// of those that "..." stands for is most_letters + i.
struct Equation {
  static constexpr int most_letters = 256;
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};

// Without "->" the result has the axes of "...", then those whose label stands once, in the order of the alphabet. An
// ellipsis that the result leaves out is summed. Nothing, and `problem` says why, where the equation is none or does
// not fit operands of these ranks.
std::optional<Equation> read_equation(std::string_view text, const std::vector<std::size_t>& ranks,
                                      std::string& problem);

// The result's shape; extents of 1 broadcast. Nothing, and `problem`, where the extents of a label differ.
std::optional<Shape> shape_of(const Equation& equation, const std::vector<Shape>& operands, std::string& problem);

// One node. Values are numbered: first the operands, then what each step makes.
struct ContractionStep {
  ContractionRule::Part part = ContractionRule::Part::reshape;
  std::vector<std::size_t> inputs;
  std::vector<int> axes;   // permute: of the operand; sum: those that disappear
  Shape shape;             // reshape
  std::int64_t extent = 0;  // slice: of the diagonal of a matrix whose elements are the last axis, at steps extent + 1
};

// At least one step; the last one makes the result. Rules:
// - Labels that one operand alone has, and the result has not, are summed first, and a label that stands twice in an
//   operand is its diagonal: a slice where the extent is a number, else an operator.
// - Operands are contracted in pairs, first those that share a label which is summed. A pair with labels of their own
//   on either side is a matrix product where `has_product`, of views: leading axes are those that both keep. Others
//   are multiplied, and summed where they share what nothing else needs.
std::vector<ContractionStep> contraction_steps(const Equation& equation, const std::vector<Shape>& operands,
                                               bool has_product);

}  // namespace kgen
