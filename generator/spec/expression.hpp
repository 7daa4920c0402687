// The language of expressions, as C's over doubles:
//   c ? a : b   ||  &&  == !=  < <= > >=  + -  * /  unary - !  ( )  numbers, names, inf, nan, calls, list[0]
// True is 1 and false is 0. Both sides of ?:, && and || are evaluated. min and max give NaN where an argument is NaN;
// round goes to the nearest, halves to even. Sizes and conditions have a meaning of their own: see node_expression.hpp.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/expression.hpp"

namespace kgen {

// `functions` may be called beside the built-in ones; an argument of theirs may be a bare name, and list[0] is a call
// item(list, 0) of one of them. On failure `error` says what is wrong and at which column, counted from 1.
std::optional<Expression> parse_expression(std::string_view text, std::string* error,
                                           std::span<const std::string_view> functions = {});

// How many operands a step takes from the stack.
std::size_t operand_count(const Expression::Step& step);

// "a && (b || c)" as "a" and "b || c": what must hold each; the expression alone where it is not of that form.
std::vector<Expression> conjuncts(const Expression& expression);

// Runs the program: apply(step, operands) gives what stands in place of the operands. Nothing where it once does.
template <class Value, class Apply>
std::optional<Value> run(const Expression& expression, Apply&& apply) {
  std::vector<Value> stack;
  stack.reserve(expression.depth);
  for (const Expression::Step& step : expression.steps) {
    const std::size_t kept = stack.size() - operand_count(step);
    std::optional<Value> result = apply(step, std::span<const Value>(stack).subspan(kept));
    if (!result) return std::nullopt;
    stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(kept), stack.end());
    stack.push_back(std::move(*result));
  }
  return std::move(stack.back());
}

// Of an expression that calls built-in functions only. `values` are those of Expression::variables, in that order.
double evaluate(const Expression& expression, std::span<const double> values);

// Asks for each variable once.
double evaluate(const Expression& expression, const std::function<double(std::string_view)>& variable);

}  // namespace kgen
