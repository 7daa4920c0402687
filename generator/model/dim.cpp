#include "generator/model/dim.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <numeric>
#include <set>

#include "generator/base/ensure.hpp"

namespace kgen {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

// ---- saturating arithmetic ------------------------------------------------------------------------------------------

// To +-(2^63 - 1), so that every result can be negated.
std::int64_t saturate(__int128 value) {
  return static_cast<std::int64_t>(std::clamp<__int128>(value, -Limits::max(), Limits::max()));
}

std::int64_t add(std::int64_t a, std::int64_t b) { return saturate(static_cast<__int128>(a) + b); }

std::int64_t multiply(std::int64_t a, std::int64_t b) { return saturate(static_cast<__int128>(a) * b); }

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return multiply(a, -1);
  const std::int64_t truncated = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? truncated - 1 : truncated;
}

// Never negative.
std::int64_t gcd(std::int64_t a, std::int64_t b) {
  const auto magnitude = [](std::int64_t value) { return value < 0 ? multiply(value, -1) : value; };
  return std::gcd(magnitude(a), magnitude(b));
}

DimRange product_of(const DimRange& a, const DimRange& b) {
  const auto corners = {multiply(a.low, b.low), multiply(a.low, b.high), multiply(a.high, b.low),
                        multiply(a.high, b.high)};
  const auto [low, high] = std::minmax(corners);
  return {low, high};
}

DimRange quotient_of(const DimRange& a, const DimRange& b) {
  // Extremes lie at the ends of the denominator's range and beside the zero in it.
  std::vector<std::int64_t> denominators = {b.low, b.high};
  if (b.low <= -1 && b.high >= -1) denominators.push_back(-1);
  if (b.low <= 1 && b.high >= 1) denominators.push_back(1);
  std::vector<std::int64_t> corners;
  if (b.low <= 0 && b.high >= 0) corners.push_back(0);
  for (const std::int64_t denominator : denominators) {
    if (denominator == 0) continue;
    corners.push_back(floor_quotient(a.low, denominator));
    corners.push_back(floor_quotient(a.high, denominator));
  }
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return {*low, *high};
}

}  // namespace

struct Dim::Function {
  enum class Kind { quotient, minimum, maximum };  // floor(a / b), min(a, b), max(a, b)
  Kind kind = Kind::quotient;
  Dim a, b;

  bool is_quotient() const { return kind == Kind::quotient; }

  std::int64_t apply(std::int64_t x, std::int64_t y) const {
    return is_quotient() ? floor_quotient(x, y) : kind == Kind::minimum ? std::min(x, y) : std::max(x, y);
  }

  DimRange apply(const DimRange& x, const DimRange& y) const {
    return is_quotient() ? quotient_of(x, y) : DimRange{apply(x.low, y.low), apply(x.high, y.high)};
  }
};

const std::vector<Dim::Term>& Dim::terms() const {
  static const std::vector<Term> none;
  return terms_ ? *terms_ : none;
}

std::size_t Dim::term_count() const {
  std::size_t count = constant_ != 0 || !terms_ ? 1 : 0;
  for (const Term& term : terms()) {
    ++count;
    for (const Factor& factor : term.factors) {
      if (factor.function) count += factor.function->a.term_count() + factor.function->b.term_count();
    }
  }
  return count;
}

// ---- arithmetic on terms --------------------------------------------------------------------------------------------

struct Dim::Algebra {
  using Factors = std::vector<Factor>;

  static Dim make(std::int64_t constant, std::vector<Term> terms) {
    Dim dim(constant);
    if (!terms.empty()) dim.terms_ = std::make_shared<const std::vector<Term>>(std::move(terms));
    return dim;
  }

  static Dim of_factor(Factor factor) { return make(0, {Term{1, {std::move(factor)}}}); }

  static bool by_key(const Factor& a, const Factor& b) { return a.key < b.key; }

  // The graded lexicographic order, in which terms are kept: less means earlier. Multiplying both sides by the same
  // factors keeps it, which exact_quotient relies on.
  static std::strong_ordering order(const Factors& a, const Factors& b) {
    if (a.size() != b.size()) return b.size() <=> a.size();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (const int compared = a[i].key.compare(b[i].key); compared != 0) return compared <=> 0;
    }
    return std::strong_ordering::equal;
  }

  static Factors product(const Factors& a, const Factors& b) {
    Factors result;
    result.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result), by_key);
    return result;
  }

  // a / b, absent where b does not divide a.
  static std::optional<Factors> quotient(const Factors& a, const Factors& b) {
    if (!std::includes(a.begin(), a.end(), b.begin(), b.end(), by_key)) return std::nullopt;
    Factors result;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result), by_key);
    return result;
  }

  static Dim scaled(const Dim& dim, std::int64_t by) {
    if (by == 0) return 0;
    if (by == 1) return dim;
    if (dim.is_constant()) return multiply(dim.constant_, by);
    std::vector<Term> terms = dim.terms();
    for (Term& term : terms) term.coefficient = multiply(term.coefficient, by);
    return make(multiply(dim.constant_, by), std::move(terms));
  }

  // The sum of terms in any order.
  static Dim sum(std::int64_t constant, std::vector<Term> terms) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return order(a.factors, b.factors) < 0; });
    std::vector<Term> merged;
    for (Term& term : terms) {
      if (!merged.empty() && order(merged.back().factors, term.factors) == 0) {
        merged.back().coefficient = add(merged.back().coefficient, term.coefficient);
      } else {
        merged.push_back(std::move(term));
      }
    }
    std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
    return make(constant, std::move(merged));
  }

  // a = result * b, by long division on leading terms; absent where b does not divide a. b is not constant.
  static std::optional<Dim> exact_quotient(Dim a, const Dim& b) {
    const Term& divisor = b.terms().front();
    Dim result;
    while (!a.terms().empty()) {
      const Term& leading = a.terms().front();
      if (leading.coefficient % divisor.coefficient != 0) return std::nullopt;
      auto factors = quotient(leading.factors, divisor.factors);
      if (!factors) return std::nullopt;
      const std::int64_t coefficient = floor_quotient(leading.coefficient, divisor.coefficient);
      const Dim step = factors->empty() ? Dim(coefficient) : make(0, {Term{coefficient, std::move(*factors)}});
      a = a - step * b;
      result = result + step;
    }
    if (a.constant_ != 0) return std::nullopt;
    return result;
  }

  // The greatest number that divides every coefficient, the constant term apart.
  static std::int64_t common_coefficient(const Dim& dim) {
    std::int64_t common = 0;
    for (const Term& term : dim.terms()) common = gcd(common, term.coefficient);
    return common;
  }

  // Divides every coefficient, and the constant term, by a number that divides them all.
  static Dim reduced(const Dim& dim, std::int64_t by) {
    std::vector<Term> terms = dim.terms();
    for (Term& term : terms) term.coefficient = floor_quotient(term.coefficient, by);
    return make(floor_quotient(dim.constant_, by), std::move(terms));
  }

  // The factors that every term of both holds, where neither has a constant term.
  static Factors common_factors(const Dim& a, const Dim& b) {
    if (a.constant_ != 0 || b.constant_ != 0) return {};
    Factors common = b.terms().front().factors;
    for (const Dim* dim : {&a, &b}) {
      for (const Term& term : dim->terms()) {
        Factors both;
        std::set_intersection(common.begin(), common.end(), term.factors.begin(), term.factors.end(),
                              std::back_inserter(both), by_key);
        common = std::move(both);
      }
    }
    return common;
  }

  static Dim opaque(Function::Kind kind, Dim a, Dim b) {
    auto function = std::make_shared<Function>(Function{kind, std::move(a), std::move(b)});
    std::string key = function_text(*function);
    return of_factor({std::move(key), std::move(function)});
  }

  static std::string function_text(const Function& function);

  // Where `dim` is a function of this kind, and a constant: the function.
  static const Function* sole_function(const Dim& dim, Function::Kind kind) {
    if (dim.terms().size() != 1) return nullptr;
    const Term& term = dim.terms().front();
    if (term.coefficient != 1 || term.factors.size() != 1) return nullptr;
    const Function* function = term.factors[0].function.get();
    return function && function->kind == kind ? function : nullptr;
  }

  // Where `dim` is floor(n / d) + k with a positive constant d: the quotient.
  static const Function* sole_quotient(const Dim& dim) {
    const Function* quotient = sole_function(dim, Function::Kind::quotient);
    return quotient && quotient->b.is_constant() && quotient->b.constant_ > 0 ? quotient : nullptr;
  }

  // The terms that both have, with no more than the lesser of two coefficients of one sign.
  static Dim common_terms(const Dim& a, const Dim& b) {
    std::vector<Term> common;
    for (const Term& term : a.terms()) {
      const auto same = std::find_if(b.terms().begin(), b.terms().end(),
                                     [&](const Term& each) { return order(each.factors, term.factors) == 0; });
      if (same == b.terms().end() || (same->coefficient < 0) != (term.coefficient < 0)) continue;
      const bool negative = term.coefficient < 0;
      common.push_back(
          {negative ? std::max(term.coefficient, same->coefficient) : std::min(term.coefficient, same->coefficient),
           term.factors});
    }
    return make(0, std::move(common));
  }

  // min(a, b) or max(a, b).
  static Dim extreme(Function::Kind kind, const Dim& a, const Dim& b) {
    const bool least = kind == Function::Kind::minimum;
    const Dim difference = a - b;
    if (difference.is_constant()) return (difference.constant_ < 0) == least ? a : b;
    const Dim common = common_terms(a, b);
    Dim x = a - common, y = b - common;
    const std::int64_t constant = least ? std::min(x.constant_, y.constant_) : std::max(x.constant_, y.constant_);
    // A constant that both have comes out, but of a number: min(S, 64), min(S, D) + 1.
    const bool apart = x.is_constant() || y.is_constant();
    const Dim both = apart ? Dim() : Dim(constant);
    x = x - both;
    y = y - both;
    // min(min(p, q), q) is min(p, q).
    for (const auto& [inner, other] : {std::pair(&x, &y), std::pair(&y, &x)}) {
      const Function* function = sole_function(*inner, kind);
      if (!function || inner->constant_ != 0) continue;
      if (function->a == *other || function->b == *other) return common + both + *inner;
      if (function->b.is_constant() && other->is_constant())
        return common + both + extreme(kind, function->a, extreme(kind, function->b, *other));
    }
    // A number stands last, sums in the order of their texts.
    if (x.is_constant() || (!y.is_constant() && y.text() < x.text())) std::swap(x, y);
    return common + both + opaque(kind, std::move(x), std::move(y));
  }

  // floor(a / b) for b > 0. Whole multiples of b come out; of the rest the constant term is at least 0 and less than
  // the denominator, so that floor((S - 1) / 4) + 1 and floor((S + 3) / 4) are the same.
  static Dim divide_by_constant(const Dim& a, std::int64_t b) {
    std::vector<Term> whole_terms, rest_terms;
    for (const Term& term : a.terms()) {
      const std::int64_t times = term.coefficient / b;
      if (times != 0) whole_terms.push_back({times, term.factors});
      if (term.coefficient % b != 0) rest_terms.push_back({term.coefficient % b, term.factors});
    }
    const std::int64_t constant = floor_quotient(a.constant_, b);
    const Dim whole = make(constant, std::move(whole_terms));
    if (rest_terms.empty()) return whole;

    Dim rest = make(a.constant_ - multiply(constant, b), std::move(rest_terms));
    const bool negative =
        std::all_of(rest.terms().begin(), rest.terms().end(), [](const Term& t) { return t.coefficient < 0; });
    if (negative)  // floor((c - p) / b) = -floor((p - c + b - 1) / b), in which nothing is less than 0
      return whole - divide_by_constant(scaled(rest, -1) + Dim(b - 1), b);
    const std::int64_t common = gcd(common_coefficient(rest), b);
    rest = reduced(rest, common);  // floor((g p + c) / (g m)) = floor((p + floor(c / g)) / m)
    b /= common;
    if (const Function* inner = sole_quotient(rest)) {  // floor((floor(n / d) + k) / b) = floor((n + k d) / (b d))
      return whole + divide_by_constant(inner->a + Dim(rest.constant_) * inner->b, multiply(b, inner->b.constant_));
    }
    return whole + opaque(Function::Kind::quotient, std::move(rest), b);
  }

  // Of their product.
  static DimRange range_of(const Factors& factors, const DimRanges& ranges, int cases) {
    constexpr DimRange unknown{0, std::numeric_limits<std::int32_t>::max()};
    DimRange product{1, 1};
    for (const Factor& factor : factors) {
      if (const Function* function = factor.function.get()) {
        product =
            product_of(product, function->apply(function->a.range(ranges, cases), function->b.range(ranges, cases)));
      } else {
        const auto found = ranges.find(factor.key);
        product = product_of(product, found == ranges.end() ? unknown : found->second);
      }
    }
    return product;
  }

  static void collect_symbols(const Dim& dim, std::set<std::string>& found) {
    for (const Term& term : dim.terms()) {
      for (const Factor& factor : term.factors) {
        if (!factor.function) {
          found.insert(factor.key);
        } else {
          collect_symbols(factor.function->a, found);
          collect_symbols(factor.function->b, found);
        }
      }
    }
  }
};

Dim Dim::symbol(std::string_view name) { return Algebra::of_factor({std::string(name), nullptr}); }

Dim Dim::floor_divide(const Dim& a, const Dim& b) {
  if (b == 0) return 0;
  if (b.is_constant()) {
    if (b.constant_ < 0) return Algebra::divide_by_constant(Algebra::scaled(a, -1), multiply(b.constant_, -1));
    return Algebra::divide_by_constant(a, b.constant_);
  }
  if (auto exact = Algebra::exact_quotient(a, b)) return *exact;
  if (b.terms().front().coefficient < 0) return floor_divide(Algebra::scaled(a, -1), Algebra::scaled(b, -1));

  Dim numerator = a, denominator = b;
  if (const auto common = Algebra::common_factors(a, b); !common.empty()) {
    const Dim divisor = Algebra::make(0, {Term{1, common}});
    numerator = *Algebra::exact_quotient(std::move(numerator), divisor);
    denominator = *Algebra::exact_quotient(std::move(denominator), divisor);
    if (denominator.is_constant()) return floor_divide(numerator, denominator);
  }
  std::int64_t common = gcd(Algebra::common_coefficient(numerator), Algebra::common_coefficient(denominator));
  common = gcd(gcd(common, numerator.constant_), denominator.constant_);
  return Algebra::opaque(Function::Kind::quotient, Algebra::reduced(numerator, common),
                         Algebra::reduced(denominator, common));
}

Dim Dim::minimum(const Dim& a, const Dim& b) { return Algebra::extreme(Function::Kind::minimum, a, b); }

Dim Dim::maximum(const Dim& a, const Dim& b) { return Algebra::extreme(Function::Kind::maximum, a, b); }

std::optional<std::string> Dim::as_symbol() const {
  if (constant_ != 0 || terms().size() != 1) return std::nullopt;
  const Term& term = terms().front();
  if (term.coefficient != 1 || term.factors.size() != 1 || term.factors[0].function) return std::nullopt;
  return term.factors[0].key;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> found;
  Algebra::collect_symbols(*this, found);
  return {found.begin(), found.end()};
}

Dim operator+(const Dim& a, const Dim& b) {
  const std::int64_t constant = add(a.constant_, b.constant_);
  if (a.is_constant() || b.is_constant()) {
    Dim result = a.is_constant() ? b : a;
    result.constant_ = constant;
    return result;
  }
  std::vector<Dim::Term> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return Dim::Algebra::sum(constant, std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim::Algebra::scaled(b, -1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (b.is_constant()) return Dim::Algebra::scaled(a, b.constant_);
  if (a.is_constant()) return Dim::Algebra::scaled(b, a.constant_);
  std::vector<Dim::Term> terms;
  for (const Dim::Term& left : a.terms()) {
    for (const Dim::Term& right : b.terms()) {
      terms.push_back(
          {multiply(left.coefficient, right.coefficient), Dim::Algebra::product(left.factors, right.factors)});
    }
  }
  // What the constant terms contribute.
  for (const Dim::Term& left : a.terms()) terms.push_back({multiply(left.coefficient, b.constant_), left.factors});
  for (const Dim::Term& right : b.terms()) terms.push_back({multiply(right.coefficient, a.constant_), right.factors});
  return Dim::Algebra::sum(multiply(a.constant_, b.constant_), std::move(terms));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_) return false;
  if (a.terms_ == b.terms_) return true;
  return std::equal(a.terms().begin(), a.terms().end(), b.terms().begin(), b.terms().end(),
                    [](const Dim::Term& left, const Dim::Term& right) {
                      return left.coefficient == right.coefficient &&
                             Dim::Algebra::order(left.factors, right.factors) == 0;
                    });
}

// ---- values and bounds ----------------------------------------------------------------------------------------------

std::int64_t Dim::evaluate(const DimBindings& bindings) const {
  __int128 total = constant_;
  for (const Term& term : terms()) {
    std::int64_t product = term.coefficient;
    for (const Factor& factor : term.factors) {
      if (const Function* function = factor.function.get()) {
        product = multiply(product, function->apply(function->a.evaluate(bindings), function->b.evaluate(bindings)));
      } else {
        const auto bound = bindings.find(factor.key);
        ensure(bound != bindings.end(), "every symbol of a size that is evaluated is bound");
        product = multiply(product, bound->second);
      }
    }
    total += product;
  }
  return saturate(total);
}

DimRange Dim::range(const DimRanges& ranges) const { return range(ranges, most_cases); }

DimRange Dim::range(const DimRanges& ranges, int cases) const {
  const DimRange apart = range_of_terms(ranges, cases - 1);
  // min(a, b) is one of both, and at most either: so the sum is one of those with a or b in its place, and at most or
  // at least either of these.
  for (const Term& term : terms()) {
    const Function* function = term.factors.size() == 1 ? term.factors[0].function.get() : nullptr;
    if (cases <= 0 || !function || function->is_quotient()) continue;
    const Dim others = *this - Algebra::make(0, {term});
    const DimRange a = (others + Algebra::scaled(function->a, term.coefficient)).range(ranges, cases - 1),
                   b = (others + Algebra::scaled(function->b, term.coefficient)).range(ranges, cases - 1);
    const bool is_lesser = (function->kind == Function::Kind::minimum) == (term.coefficient > 0);
    const DimRange both = is_lesser ? DimRange{std::min(a.low, b.low), std::min(a.high, b.high)}
                                    : DimRange{std::max(a.low, b.low), std::max(a.high, b.high)};
    return {std::max(apart.low, both.low), std::min(apart.high, both.high)};
  }
  return apart;
}

// As if no factor occurred twice, but for those that all terms have: S*M - 16*S is S*(M - 16).
DimRange Dim::range_of_terms(const DimRanges& ranges, int cases) const {
  __int128 low = constant_, high = constant_;
  for (const Term& term : terms()) {
    const DimRange product =
        product_of({term.coefficient, term.coefficient}, Algebra::range_of(term.factors, ranges, cases));
    low += product.low;
    high += product.high;
  }
  const DimRange apart{saturate(low), saturate(high)};
  if (terms().size() < 2) return apart;
  const auto common = Algebra::common_factors(*this, *this);
  if (common.empty()) return apart;
  const Dim others = *Algebra::exact_quotient(*this, Algebra::make(0, {Term{1, common}}));
  const DimRange product = product_of(Algebra::range_of(common, ranges, cases), others.range(ranges, cases));
  return {std::max(apart.low, product.low), std::min(apart.high, product.high)};
}

// ---- printing -------------------------------------------------------------------------------------------------------

struct Dim::Notation {
  Signs signs;

  static bool never_negative(const Dim& dim) {
    return dim.constant_ >= 0 && std::all_of(dim.terms().begin(), dim.terms().end(), [](const Term& term) {
             return term.coefficient > 0 &&
                    std::all_of(term.factors.begin(), term.factors.end(), [](const Factor& factor) {
                      return !factor.function || never_negative(*factor.function);
                    });
           });
  }

  static bool never_negative(const Function& function) {
    const bool a = never_negative(function.a), b = never_negative(function.b);
    return function.kind == Function::Kind::maximum ? a || b : a && b;
  }

  static std::string parenthesised(const std::string& text) { return "(" + text + ")"; }

  // An operand of a division: a product of symbols stands as it is on the left, a symbol or a number on either side.
  std::string division_operand(const Dim& dim, bool left) const {
    const bool number = dim.is_constant() && dim.constant_ >= 0;
    const bool product = dim.constant_ == 0 && dim.terms().size() == 1 && dim.terms()[0].coefficient > 0 &&
                         std::none_of(dim.terms()[0].factors.begin(), dim.terms()[0].factors.end(),
                                      [](const Factor& each) { return each.function && each.function->is_quotient(); });
    const bool alone = number || dim.as_symbol() || (left && product);
    return alone ? sum(dim) : parenthesised(sum(dim));
  }

  std::string call(std::string_view name, const Function& function) const {
    return std::string(name) + "(" + sum(function.a) + ", " + sum(function.b) + ")";
  }

  // `alone`: nothing stands beside it that would bind closer than a division.
  std::string text(const Function& function, bool alone) const {
    if (function.kind == Function::Kind::minimum) return call(signs.minimum, function);
    if (function.kind == Function::Kind::maximum) return call(signs.maximum, function);
    const bool truncates_alike = never_negative(function.a) && never_negative(function.b);
    if (!signs.floor_divide.empty() && !truncates_alike) return call(signs.floor_divide, function);
    const std::string division =
        division_operand(function.a, true) + std::string(signs.over) + division_operand(function.b, false);
    return alone ? division : parenthesised(division);
  }

  // `negated`: a minus sign stands before it, and must not bind closer than a division.
  std::string product(std::int64_t coefficient, const std::vector<Factor>& factors, bool negated) const {
    std::string result = coefficient == 1 ? "" : std::to_string(coefficient);
    const bool alone = coefficient == 1 && factors.size() == 1 && !negated;
    for (const Factor& factor : factors) {
      if (!result.empty()) result += signs.times;
      result += factor.function ? text(*factor.function, alone) : factor.key;
    }
    return result;
  }

  // What is positive comes first: "D - S", "4096 - P". A number otherwise comes last.
  std::string sum(const Dim& dim) const {
    const bool number_first = dim.constant_ > 0 && std::all_of(dim.terms().begin(), dim.terms().end(),
                                                               [](const Term& t) { return t.coefficient < 0; });
    std::string result = number_first ? std::to_string(dim.constant_) : "";
    for (const bool positive : {true, false}) {
      for (const Term& term : dim.terms()) {
        if ((term.coefficient > 0) == positive) append(result, term.coefficient, &term.factors);
      }
    }
    if (!number_first && (dim.constant_ != 0 || result.empty())) append(result, dim.constant_, nullptr);
    return result;
  }

  // Adds a term, or where `factors` is null a number, to the text of a sum.
  void append(std::string& text, std::int64_t coefficient, const std::vector<Factor>* factors) const {
    const bool negative = coefficient < 0;
    const std::int64_t magnitude = negative ? multiply(coefficient, -1) : coefficient;
    const bool first = text.empty();
    if (first)
      text = negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    text += factors ? product(magnitude, *factors, first && negative) : std::to_string(magnitude);
  }
};

std::string Dim::Algebra::function_text(const Function& function) { return Notation{{}}.text(function, true); }

std::string Dim::text() const { return text(Signs{}); }

std::string Dim::text(const Signs& signs) const { return Notation{signs}.sum(*this); }

// ---- shapes ---------------------------------------------------------------------------------------------------------

std::string to_text(const Shape& shape) {
  std::string result = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) result += ", ";
    result += shape[i].text();
  }
  return result + "]";
}

bool has_too_many_products(const Shape& shape) {
  std::size_t products = 1;
  for (const Dim& extent : shape) {
    products *= std::max<std::size_t>(1, extent.term_count());
    if (products > most_products) return true;
  }
  return false;
}

Dim element_count(const Shape& shape, std::int64_t each) {
  Dim numbers = each, symbols = 1;  // apart, as a product with symbols allocates
  for (const Dim& extent : shape) {
    Dim& product = extent.is_constant() ? numbers : symbols;
    product = product * extent;
  }
  return symbols * numbers;
}

bool provably_at_most(const Dim& a, const Dim& b, const DimRanges& ranges) { return (b - a).range(ranges).low >= 0; }

}  // namespace kgen
