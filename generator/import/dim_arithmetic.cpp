#include "generator/import/dim_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kgen {
namespace {

using Operation = Expression::Operation;

// Beyond this, whole numbers are numbers and not sizes: nothing is added to a symbol then.
constexpr std::int64_t largest_with_symbols = std::int64_t{1} << 53;

bool is_moderate(const Dim& dim) {
  return dim.constant() <= largest_with_symbols && dim.constant() >= -largest_with_symbols;
}

std::optional<Dim> arithmetic(Operation operation, const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (a.is_constant() && b.is_constant()) {
    const std::int64_t x = a.constant(), y = b.constant();
    std::int64_t result = 0;
    switch (operation) {
      case Operation::add: return __builtin_add_overflow(x, y, &result) ? std::nullopt : std::optional<Dim>(result);
      case Operation::subtract:
        return __builtin_sub_overflow(x, y, &result) ? std::nullopt : std::optional<Dim>(result);
      case Operation::multiply:
        return __builtin_mul_overflow(x, y, &result) ? std::nullopt : std::optional<Dim>(result);
      default:
        if (y == 0 || (y == -1 && x == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
        return Dim(x / y - (x % y != 0 && (x < 0) != (y < 0)));
    }
  }
  if (!is_moderate(a) || !is_moderate(b)) return std::nullopt;
  if (a.term_count() + b.term_count() > most_products) return std::nullopt;
  switch (operation) {
    case Operation::add: return a + b;
    case Operation::subtract: return a - b;
    case Operation::multiply:
      return a.term_count() * b.term_count() > most_products ? std::nullopt : std::optional<Dim>(a * b);
    default:
      return b.range(ranges).low <= 0 ? std::nullopt : std::optional<Dim>(Dim::floor_divide(a, b));
  }
}

// -1, 0 or 1 where a is less than, equal to or greater than b for every value of the symbols.
std::optional<int> order(const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (a == b) return 0;
  if (a.is_constant() && b.is_constant()) return a.constant() < b.constant() ? -1 : 1;
  const DimRange x = a.range(ranges), y = b.range(ranges);
  if (x.high < y.low) return -1;
  if (x.low > y.high) return 1;
  if (!is_moderate(a) || !is_moderate(b)) return std::nullopt;
  const DimRange difference = (a - b).range(ranges);
  if (difference.high < 0) return -1;
  return difference.low > 0 ? std::optional<int>(1) : std::nullopt;
}

std::optional<bool> at_most(const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (const auto known = order(a, b, ranges)) return *known <= 0;
  if (!is_moderate(a) || !is_moderate(b)) return std::nullopt;
  const DimRange difference = (a - b).range(ranges);
  if (difference.high <= 0) return true;
  return std::nullopt;
}

std::optional<Dim> whole(Operation operation, const Dim& a, const Dim& b, const DimRanges& ranges) {
  const auto negated = [](std::optional<bool> known) {
    return known ? std::optional<Dim>(Dim(!*known)) : std::nullopt;
  };
  const auto kept = [](std::optional<bool> known) { return known ? std::optional<Dim>(Dim(*known)) : std::nullopt; };
  const auto known = order(a, b, ranges);
  switch (operation) {
    case Operation::equal: return known ? std::optional<Dim>(*known == 0) : std::nullopt;
    case Operation::not_equal: return known ? std::optional<Dim>(*known != 0) : std::nullopt;
    case Operation::less: return known ? std::optional<Dim>(*known < 0) : negated(at_most(b, a, ranges));
    case Operation::greater: return known ? std::optional<Dim>(*known > 0) : negated(at_most(a, b, ranges));
    case Operation::less_equal: return kept(at_most(a, b, ranges));
    case Operation::greater_equal: return kept(at_most(b, a, ranges));
    case Operation::min:
    case Operation::max: {
      const bool least = operation == Operation::min;
      if (at_most(a, b, ranges).value_or(false)) return least ? a : b;
      if (at_most(b, a, ranges).value_or(false)) return least ? b : a;
      if (!is_moderate(a) || !is_moderate(b) || a.term_count() + b.term_count() > most_products) return std::nullopt;
      return least ? Dim::minimum(a, b) : Dim::maximum(a, b);
    }
    case Operation::pow: {
      if (!b.is_constant() || b.constant() < 0 || b.constant() > 64) return std::nullopt;
      std::optional<Dim> power(1);
      for (std::int64_t i = 0; power && i < b.constant(); ++i) {
        power = arithmetic(Operation::multiply, *power, a, ranges);
      }
      return power;
    }
    case Operation::logical_and:
    case Operation::logical_or: {
      const auto x = truth_of(a, ranges), y = truth_of(b, ranges);
      const bool decides = operation == Operation::logical_or;
      if ((x && *x == decides) || (y && *y == decides)) return Dim(decides);
      return x && y ? std::optional<Dim>(!decides) : std::nullopt;
    }
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide: return arithmetic(operation, a, b, ranges);
    default: return std::nullopt;
  }
}

std::optional<double> real(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::add: return a + b;
    case Operation::subtract: return a - b;
    case Operation::multiply: return a * b;
    case Operation::divide: return a / b;
    case Operation::min: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
    case Operation::max: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
    case Operation::pow: return std::pow(a, b);
    default: return std::nullopt;
  }
}

std::optional<bool> compared(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::equal: return a == b;
    case Operation::not_equal: return a != b;
    case Operation::less: return a < b;
    case Operation::greater: return a > b;
    case Operation::less_equal: return a <= b;
    case Operation::greater_equal: return a >= b;
    case Operation::logical_and: return a != 0 && b != 0;
    case Operation::logical_or: return a != 0 || b != 0;
    default: return std::nullopt;
  }
}

std::optional<ContentElement> unary(Operation operation, const ContentElement& x, const DimRanges& ranges) {
  if (operation == Operation::logical_not) {
    const auto truth = truth_of(x, ranges);
    return truth ? std::optional<ContentElement>(Dim(!*truth)) : std::nullopt;
  }
  if (const Dim* dim = std::get_if<Dim>(&x)) {
    switch (operation) {
      case Operation::negate: return arithmetic(Operation::subtract, Dim(0), *dim, ranges);
      case Operation::floor:
      case Operation::ceil:
      case Operation::round: return x;
      case Operation::abs:
        if (dim->range(ranges).low >= 0) return x;
        if (dim->range(ranges).high <= 0) return arithmetic(Operation::subtract, Dim(0), *dim, ranges);
        return std::nullopt;
      default:
        if (!dim->is_constant()) return std::nullopt;
        return unary(operation, static_cast<double>(dim->constant()), ranges);
    }
  }
  const double value = std::get<double>(x);
  switch (operation) {
    case Operation::negate: return -value;
    case Operation::abs: return std::abs(value);
    case Operation::exp: return std::exp(value);
    case Operation::log: return std::log(value);
    case Operation::sqrt: return std::sqrt(value);
    case Operation::sin: return std::sin(value);
    case Operation::cos: return std::cos(value);
    case Operation::tanh: return std::tanh(value);
    case Operation::erf: return std::erf(value);
    case Operation::floor: return std::floor(value);
    case Operation::ceil: return std::ceil(value);
    case Operation::round: return std::nearbyint(value);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<bool> truth_of(const ContentElement& element, const DimRanges& ranges) {
  if (const double* value = std::get_if<double>(&element)) return *value != 0;
  const Dim& dim = std::get<Dim>(element);
  if (dim.is_constant()) return dim.constant() != 0;
  const DimRange range = dim.range(ranges);
  return range.low > 0 || range.high < 0 ? std::optional<bool>(true) : std::nullopt;
}

std::optional<ContentElement> apply(Operation operation, std::span<const ContentElement> operands,
                                    const DimRanges& ranges) {
  if (operation == Operation::choose) {
    const auto truth = truth_of(operands[0], ranges);
    return truth ? std::optional<ContentElement>(operands[*truth ? 1 : 2]) : std::nullopt;
  }
  if (operands.size() == 1) return unary(operation, operands[0], ranges);
  const Dim* a = std::get_if<Dim>(&operands[0]);
  const Dim* b = std::get_if<Dim>(&operands[1]);
  if (a && b) {
    if (auto result = whole(operation, *a, *b, ranges)) return ContentElement(std::move(*result));
    return std::nullopt;
  }
  const auto x = number_of(operands[0]), y = number_of(operands[1]);
  if (!x || !y) return std::nullopt;
  if (const auto truth = compared(operation, x->real(), y->real())) return ContentElement(Dim(*truth));
  if (const auto result = real(operation, x->real(), y->real())) return ContentElement(*result);
  return std::nullopt;
}

}  // namespace kgen
