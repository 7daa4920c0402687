#include "generator/pass/graph/work.hpp"

#include <algorithm>

namespace kgen {
namespace {

std::int64_t price_of(Expression::Operation operation, const Prices& prices) {
  using enum Expression::Operation;
  switch (operation) {
    case number:
    case variable:
    case name:
      return 0;
    case divide:
    case sqrt:
      return prices.division;
    case call:
    case exp:
    case log:
    case sin:
    case cos:
    case tanh:
    case erf:
    case pow:
      return prices.function;
    default:
      return prices.step;
  }
}

}  // namespace

std::int64_t work_of(const Node& node, const Prices& prices) {
  if (!node.op || node.op->definition.empty()) return prices.function;
  std::int64_t work = 0;
  for (const Expression::Step& step : node.op->definition.steps) work += price_of(step.operation, prices);
  return std::max(work, prices.step);
}

}  // namespace kgen
