// The scalar expressions that specifications hold: an operator's `definition` ("max(x, 0)"), an attribute's default
// ("1 / sqrt(D)") and the condition of an expansion ("extent(x, axis) <= 65536"). As C's, over doubles:
//   c ? a : b   ||  &&  == !=  < <= > >=  + -  * /  unary - !  ( )  numbers, names, inf, nan, calls, list[0]
// True is 1 and false is 0. Both sides of ?:, && and || are evaluated. min and max give NaN where an argument is NaN;
// round goes to the nearest, halves to even.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/dim.hpp"
#include "generator/model/number.hpp"

namespace kgen {

// A program for a stack machine. Steps push a number or a variable, or replace the operands on top of the stack.
struct Expression {
  enum class Operation : std::uint8_t {
    number, variable, name, call,                              // name: an argument that is only a name, for a call
    negate, logical_not, add, subtract, multiply, divide,
    equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or, choose,
    abs, exp, log, sqrt, sin, cos, tanh, erf, floor, ceil, round, min, max, pow,
  };
  struct Step {
    Operation operation = Operation::number;
    std::uint32_t index = 0;   // variable, name: into variables or names; call: the function, into names
    std::uint32_t count = 0;   // call: how many arguments
    Number number;
  };
  std::vector<Step> steps;
  std::vector<std::string> variables;  // each once, in the order of their first use
  std::vector<std::string> names;      // functions, and the arguments of theirs that are only names
  std::size_t depth = 0;               // of the stack
};

// An argument of a function that the caller supplies: a bare name as text (its meaning is the function's affair),
// anything else as its value.
struct ExpressionArgument {
  std::string_view name;  // empty: `value` holds
  double value = 0;
};
using ExpressionFunction = std::function<double(std::string_view name, std::span<const ExpressionArgument> arguments)>;

// `functions` are the names the caller will answer for, beside the built-in ones; list[0] is a call item(list, 0) of one
// of them. On failure `error` says what is wrong and at which column, counted from 1.
std::optional<Expression> parse_expression(std::string_view text, std::string* error,
                                           std::span<const std::string_view> functions = {});

// `values` are those of Expression::variables, in that order.
double evaluate(const Expression& expression, std::span<const double> values, const ExpressionFunction& function = {});

// Asks for each variable once.
double evaluate(const Expression& expression, const std::function<double(std::string_view)>& variable,
                const ExpressionFunction& function = {});

// The same over sizes: + - * and / (rounding down) of whole numbers, names and calls, such as "2 * D + 1". Nothing
// where the expression holds anything else, divides by zero, or `variable` or `function` gives nothing.
using DimFunction =
    std::function<std::optional<Dim>(std::string_view name, std::span<const ExpressionArgument> arguments)>;
std::optional<Dim> evaluate_dim(const Expression& expression,
                                const std::function<std::optional<Dim>(std::string_view)>& variable,
                                const DimFunction& function = {});

}  // namespace kgen
