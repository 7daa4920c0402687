#include "generator/pass/graph/work.hpp"

#include <algorithm>

namespace kgen {
namespace {

constexpr std::int64_t price_of_step = 1;
constexpr std::int64_t price_of_division = 16;
constexpr std::int64_t price_of_function = 32;

std::int64_t price_of(Expression::Operation operation) {
  using enum Expression::Operation;
  switch (operation) {
    case number:
    case variable:
    case name:
      return 0;
    case divide:
    case sqrt:
      return price_of_division;
    case call:
    case exp:
    case log:
    case sin:
    case cos:
    case tanh:
    case erf:
    case pow:
      return price_of_function;
    default:
      return price_of_step;
  }
}

}  // namespace

std::int64_t work_of(const Node& node) {
  if (!node.op || node.op->definition.empty()) return price_of_function;
  std::int64_t work = 0;
  for (const Expression::Step& step : node.op->definition.steps) work += price_of(step.operation);
  return std::max(work, price_of_step);
}

}  // namespace kgen
