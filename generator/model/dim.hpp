// Sizes that may depend on symbols: polynomials with integer coefficients over symbolic dimensions, kept in one
// canonical form, so that two sizes that are equal for every value of their symbols compare equal. What is no
// polynomial becomes an opaque factor: floor(a / b) where it does not come out even, min(a, b) and max(a, b).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgen {

// Inclusive. DESIGN: "symbolic: any value in the range, at run time".
struct DimRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
using DimRanges = std::map<std::string, DimRange, std::less<>>;
using DimBindings = std::map<std::string, std::int64_t, std::less<>>;

class Dim {
 public:
  Dim(std::int64_t constant = 0) : constant_(constant) {}  // implicit: 4096 is a Dim
  static Dim symbol(std::string_view name);
  // floor(a / b), in lowest terms; a quotient remains only where b does not divide a. b should not be zero: a quotient
  // by a denominator that is, or turns out to be, zero is 0.
  static Dim floor_divide(const Dim& a, const Dim& b);
  // What they have in common comes out: min(S + 4, 2*S) is S + min(S, 4).
  static Dim minimum(const Dim& a, const Dim& b);
  static Dim maximum(const Dim& a, const Dim& b);

  bool is_constant() const { return !terms_; }
  std::int64_t constant() const { return constant_; }  // the constant term
  // How many products this is a sum of, those within factors among them; 1 for a constant.
  std::size_t term_count() const;
  // The symbol's name where this is exactly one symbol.
  std::optional<std::string> as_symbol() const;
  // Every symbol that occurs, each once, sorted.
  std::vector<std::string> symbols() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

  // Every symbol must be bound. Saturates at +-(2^63 - 1) instead of overflowing.
  std::int64_t evaluate(const DimBindings& bindings) const;
  // Bounds over all values of the symbols (interval arithmetic: may be wider than the truth). Symbols without a range
  // count as 0..2^31-1.
  DimRange range(const DimRanges& ranges) const;

  // "2*D + S + 1"; also what comparisons and sharing use as a key.
  std::string text() const;
  // The same in another language. Symbols are sizes, so never negative: a quotient of which the numerator might be is
  // written as a call of `floor_divide`, where that is given.
  struct Signs {
    std::string_view times = "*", over = "/";
    std::string_view floor_divide = {};
    std::string_view minimum = "min", maximum = "max";
  };
  std::string text(const Signs& signs) const;

 private:
  struct Function;
  struct Factor {  // a symbol, or a function of two sizes that is no polynomial
    std::string key;
    std::shared_ptr<const Function> function;
  };
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<Factor> factors;  // sorted by key
  };
  struct Algebra;   // the arithmetic on terms
  struct Notation;  // the printing of them

  static constexpr int most_cases = 4;  // of min and max, that are told apart to find bounds

  const std::vector<Term>& terms() const;
  DimRange range(const DimRanges& ranges, int cases) const;
  DimRange range_of_terms(const DimRanges& ranges, int cases) const;

  std::int64_t constant_ = 0;
  // Highest degree first, then by keys; no two alike, no zero coefficients; null where there are none. Shared, as a
  // graph holds every size many times over.
  std::shared_ptr<const std::vector<Term>> terms_;
};

using Shape = std::vector<Dim>;

// "[B, S, 4096]"
std::string to_text(const Shape& shape);
// Of an extent, and of the number of elements, when they are written out as sums of products: a bound on the time and
// the memory that sizes take.
inline constexpr std::size_t most_products = 256;
// Whether the number of elements could be a sum of more than that.
bool has_too_many_products(const Shape& shape);
// The product of all extents, 1 for a scalar, and of `each`: how many things there are for each element.
Dim element_count(const Shape& shape, std::int64_t each = 1);
// True where a <= b for every value of the symbols in their ranges, as far as interval arithmetic can see.
bool provably_at_most(const Dim& a, const Dim& b, const DimRanges& ranges);

}  // namespace kgen
