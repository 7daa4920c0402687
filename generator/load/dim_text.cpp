#include "generator/load/dim_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/base/characters.hpp"
#include "generator/load/fields.hpp"

namespace kgen {
namespace {

constexpr std::size_t longest_sum = 256;  // characters
constexpr int deepest_parentheses = 32;
constexpr int most_factors = 8;  // dims that are multiplied with each other
constexpr std::size_t most_axes = 32;
constexpr double most_elements = 0x1p60;

bool is_word_character(char c) { return is_identifier(std::string_view(&c, 1)) || is_digit(c); }

// The greatest magnitude of a size, over all values of its dims.
double magnitude(const Dim& dim, const DimRanges& ranges) {
  if (dim.is_constant()) return std::fabs(static_cast<double>(dim.constant()));
  const DimRange range = dim.range(ranges);
  return std::max(std::fabs(static_cast<double>(range.low)), std::fabs(static_cast<double>(range.high)));
}

// Reads the text of one scalar from left to right. After the first error nothing more is reported.
class DimParser {
 public:
  DimParser(Yaml scalar, DimScope& scope, Diagnostics& diagnostics)
      : scalar_(scalar), text_(scalar.text()), scope_(scope), diagnostics_(diagnostics) {}

  std::optional<Dim> whole_sum() {
    if (!validate_length(text_.size())) return std::nullopt;
    auto result = sum(0);
    if (result && !at_end()) return fail_here("expected an operator");
    return result ? std::optional(std::move(result->dim)) : std::nullopt;
  }

  std::optional<TensorType> whole_type() {
    const std::size_t begin = position_;
    const std::string_view name = take_word();
    const auto dtype = dtype_from_name(name);
    if (!dtype) {
      if (name.empty()) return fail_here("expected a dtype");
      report_unknown_dtype(scalar_.at(begin), name, diagnostics_);
      return std::nullopt;
    }
    if (!take('[')) {
      diagnostics_.error(scalar_.at(position_), fmt::format("expected '[' and a shape after the dtype '{}'", name))
          .advise(fmt::format("write {}[] for a scalar", name));
      return std::nullopt;
    }
    TensorType type{*dtype, {}};
    if (!axes(type.shape)) return std::nullopt;
    if (!at_end()) return fail_here("expected the end of the type");
    return type;
  }

 private:
  struct Term {
    Dim dim;
    int factors = 0;  // the most dims that are multiplied with each other
  };

  bool axes(Shape& shape) {
    if (take(']')) return true;
    double elements = 1;
    do {
      const std::size_t begin = skip_blanks();
      const std::size_t end = std::min(text_.find_first_of(",]", begin), text_.size());
      if (!validate_length(end - begin)) return false;
      auto extent = sum(0);
      if (!extent) return false;
      if (extent->dim.range(scope_.ranges).high < 0) {
        return error_at(begin, fmt::format("the extent {} is negative", extent->dim.text()));
      }
      elements *= std::max(1.0, magnitude(extent->dim, scope_.ranges));
      if (elements > most_elements) return error_at(begin, "the tensor is too large: more than 2^60 elements");
      if (shape.size() == most_axes) return error_at(begin, fmt::format("more than {} axes", most_axes));
      shape.push_back(std::move(extent->dim));
      if (has_too_many_products(shape)) return too_many_products(begin), false;
    } while (take(','));
    if (take(']')) return true;
    fail_here("expected ',' or ']'");
    return false;
  }

  std::optional<Term> sum(int depth) {
    auto left = product(depth);
    while (left) {
      const std::size_t begin = skip_blanks();
      const bool minus = peek() == '-';
      if (!take('+') && !take('-')) break;
      const auto right = product(depth);
      if (!right) return std::nullopt;
      left->dim = minus ? left->dim - right->dim : left->dim + right->dim;
      left->factors = std::max(left->factors, right->factors);
      if (magnitude(left->dim, scope_.ranges) > largest_size) return too_large(begin);
    }
    return left;
  }

  std::optional<Term> product(int depth) {
    auto left = factor(depth);
    while (left) {
      const std::size_t begin = skip_blanks();
      const char operation = peek();
      if (!take('*') && !take('/') && !take('%')) break;
      const auto right = factor(depth);
      if (!right) return std::nullopt;
      left = operation == '*'   ? times(*left, *right, begin)
             : operation == '/' ? quotient(*left, *right, begin)
                                : remainder(*left, *right, begin);
    }
    return left;
  }

  std::optional<Term> times(const Term& left, const Term& right, std::size_t where) {
    if (magnitude(left.dim, scope_.ranges) * magnitude(right.dim, scope_.ranges) > largest_size)
      return too_large(where);
    if (left.factors + right.factors > most_factors) {
      error_at(where, fmt::format("more than {} dims are multiplied with each other", most_factors));
      return std::nullopt;
    }
    if (left.dim.term_count() * right.dim.term_count() > most_products) return too_many_products(where);
    return Term{left.dim * right.dim, left.factors + right.factors};
  }

  std::optional<Term> quotient(const Term& left, const Term& right, std::size_t where) {
    const DimRange divisor = right.dim.range(scope_.ranges);
    if (divisor.low <= 0) {
      error_at(where, divisor.high <= 0
                          ? fmt::format("division by {}, which is not positive", right.dim.text())
                          : fmt::format("division by {}, which may be {}", right.dim.text(), divisor.low));
      return std::nullopt;
    }
    return Term{Dim::floor_divide(left.dim, right.dim), std::max(left.factors, right.factors)};
  }

  // What rounding down leaves.
  std::optional<Term> remainder(const Term& left, const Term& right, std::size_t where) {
    const auto whole = quotient(left, right, where);
    const auto taken = whole ? times(*whole, right, where) : std::nullopt;
    if (!taken) return std::nullopt;
    return Term{left.dim - taken->dim, std::max(left.factors, taken->factors)};
  }

  std::optional<Term> factor(int depth) {
    bool negative = false;
    while (take('-')) negative = !negative;
    auto result = take('(') ? parenthesised(depth) : atom(depth);
    if (result && negative) result->dim = Dim(0) - result->dim;
    return result;
  }

  std::optional<Term> parenthesised(int depth) {
    if (is_too_deep(depth)) return std::nullopt;
    auto result = sum(depth + 1);
    if (result && !take(')')) return fail_here("expected ')'");
    return result;
  }

  bool is_too_deep(int depth) {
    if (depth < deepest_parentheses) return false;
    return !error_at(position_ - 1, fmt::format("more than {} parentheses within each other", deepest_parentheses));
  }

  // min(a, b) or max(a, b), behind its '('.
  std::optional<Term> extreme(bool least, std::size_t where, int depth) {
    if (is_too_deep(depth)) return std::nullopt;
    const auto a = sum(depth + 1);
    if (!a) return std::nullopt;
    if (!take(',')) return fail_here("expected ','");
    const auto b = sum(depth + 1);
    if (!b) return std::nullopt;
    if (!take(')')) return fail_here("expected ')'");
    const DimRange difference = (a->dim - b->dim).range(scope_.ranges);
    if (difference.high <= 0) return least ? a : b;
    if (difference.low >= 0) return least ? b : a;
    if (a->dim.term_count() + b->dim.term_count() > most_products) return too_many_products(where);
    return Term{least ? Dim::minimum(a->dim, b->dim) : Dim::maximum(a->dim, b->dim), std::max(a->factors, b->factors)};
  }

  std::optional<Term> atom(int depth) {
    const std::size_t begin = skip_blanks();
    const std::string_view word = take_word();
    if (word.empty()) return fail_here("expected a number, a dim or '('");
    if ((word == "min" || word == "max") && take('(')) return extreme(word == "min", begin, depth);
    if (word[0] >= '0' && word[0] <= '9') {
      const auto integer = integer_from_text(word);
      if (integer && *integer <= largest_size) return Term{Dim(*integer), 0};
      if (word.find_first_not_of("0123456789") == word.npos) return too_large(begin);
      error_at(begin, fmt::format("'{}' is neither a number nor a dim", word));
      return std::nullopt;
    }
    const auto found = scope_.entries.find(word);
    if (found == scope_.entries.end()) return unknown_dim(word, begin);
    found->second.used = true;
    const bool symbolic = !found->second.value.is_constant();
    return Term{found->second.value, symbolic ? 1 : 0};
  }

  std::nullopt_t unknown_dim(std::string_view name, std::size_t where) {
    std::vector<std::string> names;
    for (const auto& [each, entry] : scope_.entries) names.push_back(each);
    Diagnostic& diagnostic = diagnostics_.error(scalar_.at(where), fmt::format("unknown dim '{}'", name));
    note_candidates(diagnostic, name, names, "dims");
    diagnostic.advise(fmt::format("declare it: dims: {{{}: 1..1024}}", name));
    return std::nullopt;
  }

  // Sizes are kept as sums of products, so that equal ones compare equal.
  std::nullopt_t too_many_products(std::size_t where) {
    error_at(where, fmt::format("the size would be a sum of more than {} products", most_products));
    return std::nullopt;
  }

  std::nullopt_t too_large(std::size_t where) {
    error_at(where, "the size is too large: more than 2^53");
    return std::nullopt;
  }

  bool validate_length(std::size_t length) {
    if (length <= longest_sum) return true;
    return error_at(position_, fmt::format("the expression is longer than {} characters", longest_sum));
  }

  // "... , not 'x'" or "... , not the end".
  std::nullopt_t fail_here(std::string_view expectation) {
    const std::size_t begin = skip_blanks();
    std::string_view found = take_word();
    if (found.empty()) found = text_.substr(begin, 1);
    error_at(begin, fmt::format("{}, not {}", expectation, found.empty() ? "the end" : fmt::format("'{}'", found)));
    return std::nullopt;
  }

  // Always false.
  bool error_at(std::size_t offset, std::string message) {
    diagnostics_.error(scalar_.at(offset), std::move(message));
    return false;
  }

  std::size_t skip_blanks() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
    return position_;
  }
  bool at_end() { return skip_blanks() == text_.size(); }
  char peek() { return at_end() ? '\0' : text_[position_]; }
  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  std::string_view take_word() {
    const std::size_t begin = skip_blanks();
    while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  Yaml scalar_;
  std::string_view text_;
  DimScope& scope_;
  Diagnostics& diagnostics_;
  std::size_t position_ = 0;
};

}  // namespace

std::optional<Dim> read_dim(Yaml value, std::string_view what, DimScope& scope, Diagnostics& diagnostics) {
  if (!value.is_scalar()) {
    report_mismatch(value, what, "a number or an expression over dims", diagnostics);
    return std::nullopt;
  }
  if (const auto integer = integer_from_text(value.text())) return Dim(*integer);
  return DimParser(value, scope, diagnostics).whole_sum();
}

std::optional<std::vector<Dim>> read_dims(Yaml value, std::string_view what, DimScope& scope,
                                          Diagnostics& diagnostics) {
  std::vector<Dim> dims;
  if (!value.is_sequence()) {
    auto dim = read_dim(value, what, scope, diagnostics);
    if (!dim) return std::nullopt;
    dims.push_back(std::move(*dim));
    return dims;
  }
  bool good = true;
  for (const Yaml item : value.items()) {
    auto dim = read_dim(item, fmt::format("each item of {}", what), scope, diagnostics);
    good = good && dim;
    if (dim) dims.push_back(std::move(*dim));
  }
  return good ? std::optional(std::move(dims)) : std::nullopt;
}

std::optional<TensorType> read_tensor_type(Yaml value, DimScope& scope, Diagnostics& diagnostics) {
  if (!value.is_scalar()) {
    report_mismatch(value, "a type", "written as dtype[dim, dim...]", diagnostics).advise("such as f32[B, 64]");
    return std::nullopt;
  }
  return DimParser(value, scope, diagnostics).whole_type();
}

}  // namespace kgen
