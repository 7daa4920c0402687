// What specifications and kernels hold, parsed: an operator's `definition` ("max(x, 0)"), an attribute's default
// ("1 / sqrt(D)"), a size ("2 * D + 1"), a condition ("extent(x, axis) <= 65536"). What they mean, spec/ knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/base/source.hpp"
#include "generator/model/number.hpp"

namespace kgen {

// A program for a stack machine. Steps push a number or a variable, or replace the operands on top of the stack.
struct Expression {
  enum class Operation : std::uint8_t {
    number, variable, name, call,  // name: an argument that is only a name, for a call
    negate, logical_not, add, subtract, multiply, divide,
    equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or, choose,
    abs, sqrt, exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh,
    acosh, atanh, erf, floor, ceil, round, trunc,  // of one number
    min, max, pow, fmod, atan2,                    // of two
  };
  struct Step {
    Operation operation = Operation::number;
    std::uint32_t index = 0;  // variable, name: into variables or names; call: the function, into names
    std::uint32_t count = 0;  // call: how many arguments
    Number number;
  };
  std::vector<Step> steps;
  std::vector<std::string> variables;  // each once, in the order of their first use
  std::vector<std::string> names;      // functions, and the arguments of theirs that are only names
  std::size_t depth = 0;               // of the stack
  std::string text;                    // as written
  SourceLocation where;

  bool empty() const { return text.empty(); }  // there is none
};

}  // namespace kgen
