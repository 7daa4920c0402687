// Reductions, for row.reduce(). Each says how partial results of W lanes begin (identity), take in W more elements
// (accumulate; by default they are converted and combined), are combined, and become the result (finish). accumulate
// may ask for the number of the first of those elements in the row; the numbers of a lane ascend. One may ask for
// another reduction of the same elements First, and begin with what that found (prepared). It may say that the order of
// two partial results does not matter to any bit of their combination (symmetric).
// They accumulate in the type of the lanes: floats in their compute type, integers in their own, in which they wrap. For a
// wider sum, convert first.
#pragma once

#include <cstdint>
#include <limits>

#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/ops/comparison.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// The sum; 0 of nothing. Integers wrap.
struct KGEN_KERNEL(sum) Sum {
  static constexpr bool symmetric = true;
  template <Number T, int W>
  static KGEN_FN auto identity() {
    return Vec<T, W>(0);
  }
  template <class T, int W>
  static KGEN_FN Vec<T, W> combine(Vec<T, W> a, Vec<T, W> b) {
    return a + b;
  }
  template <class T>
  static KGEN_FN T finish(Vec<T, 1> total, std::int64_t) {
    return total.data;
  }
};

// The mean; NaN of nothing.
struct KGEN_KERNEL(mean) Mean {
  static constexpr bool symmetric = true;
  template <Float T, int W>
  static KGEN_FN auto identity() {
    return Sum::identity<T, W>();
  }
  template <class T, int W>
  static KGEN_FN Vec<T, W> combine(Vec<T, W> a, Vec<T, W> b) {
    return a + b;
  }
  template <class T>
  static KGEN_FN T finish(Vec<T, 1> total, std::int64_t count) {
    return total.data / static_cast<T>(count);
  }
};

// The product; 1 of nothing. Integers wrap.
struct KGEN_KERNEL(prod) Prod {
  static constexpr bool symmetric = true;
  template <Number T, int W>
  static KGEN_FN auto identity() {
    return Vec<T, W>(1);
  }
  template <class T, int W>
  static KGEN_FN Vec<T, W> combine(Vec<T, W> a, Vec<T, W> b) {
    return a * b;
  }
  template <class T>
  static KGEN_FN T finish(Vec<T, 1> total, std::int64_t) {
    return total.data;
  }
};

// The greatest; NaN where any is NaN; -inf, or the least integer, of nothing.
struct KGEN_KERNEL(max) Max {
  static constexpr bool symmetric = true;
  template <Number T, int W>
  static KGEN_FN auto identity() {
    using Limits = std::numeric_limits<T>;
    return Vec<T, W>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  }
  template <class T, int W>
  static KGEN_FN Vec<T, W> combine(Vec<T, W> a, Vec<T, W> b) {
    return maximum(a, b);
  }
  template <class T>
  static KGEN_FN T finish(Vec<T, 1> total, std::int64_t) {
    return total.data;
  }
};

// The least; NaN where any is NaN; inf, or the greatest integer, of nothing.
struct KGEN_KERNEL(min) Min {
  static constexpr bool symmetric = true;
  template <Number T, int W>
  static KGEN_FN auto identity() {
    using Limits = std::numeric_limits<T>;
    return Vec<T, W>(Limits::has_infinity ? Limits::infinity() : Limits::max());
  }
  template <class T, int W>
  static KGEN_FN Vec<T, W> combine(Vec<T, W> a, Vec<T, W> b) {
    return minimum(a, b);
  }
  template <class T>
  static KGEN_FN T finish(Vec<T, 1> total, std::int64_t) {
    return total.data;
  }
};

namespace detail {

// For each lane, the element that stands before all others in some order, and its number in the row; `nowhere` as long
// as none stands before the last in that order.
template <class T, int W>
struct Found {
  static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();
  Vec<T, W> value;
  Vec<std::int64_t, W> number;

  friend KGEN_FN Found<T, W / 2> low_half(const Found& f) { return {low_half(f.value), low_half(f.number)}; }
  friend KGEN_FN Found<T, W / 2> high_half(const Found& f) { return {high_half(f.value), high_half(f.number)}; }
};

// Before says which of two numbers stands first; NaN stands before every number.
template <class Before, class T, int W>
KGEN_FN Vec<bool, W> stands_before(const Vec<T, W>& a, const Vec<T, W>& b) {
  return Before::apply(a, b) | ((a != a) & (b == b));
}
template <class Before, class T, int W>
KGEN_FN void find_in(Found<T, W>& found, const Vec<T, W>& x, std::int64_t number) {
  std::int64_t numbers[W];
  KGEN_UNROLL
  for (int i = 0; i < W; ++i) numbers[i] = number + i;
  const Vec<bool, W> takes = stands_before<Before>(x, found.value);
  found = {select(takes, x, found.value), select(takes, load_lanes<W>(numbers), found.number)};
}
// Of equals the one with the lower number.
template <class Before, class T, int W>
KGEN_FN Found<T, W> first_of(const Found<T, W>& a, const Found<T, W>& b) {
  const Vec<bool, W> a_first = stands_before<Before>(a.value, b.value);
  const Vec<bool, W> b_first = stands_before<Before>(b.value, a.value);
  const Vec<bool, W> takes = b_first | ((b.number < a.number) & !a_first);
  return {select(takes, b.value, a.value), select(takes, b.number, a.number)};
}
// Where nothing stands before the last in the order, all elements are that, and the first of them is the one.
template <class T>
KGEN_FN std::int64_t found_number(const Found<T, 1>& found, std::int64_t count) {
  if (found.number.data != Found<T, 1>::nowhere) return found.number.data;
  return count > 0 ? 0 : -1;
}

}  // namespace detail

// The number of the greatest element, the first of several; of the first NaN where there is one; -1 of nothing.
// Elements of several axes are numbered in row-major order.
struct KGEN_KERNEL(argmax) ArgMax {
  static constexpr bool symmetric = true;
  template <Number T, int W>
  static KGEN_FN auto identity() {
    return detail::Found<T, W>{Max::identity<T, W>(), detail::Found<T, W>::nowhere};
  }
  template <class T, int W>
  static KGEN_FN void accumulate(detail::Found<T, W>& found, Vec<T, W> x, std::int64_t number) {
    detail::find_in<Greater>(found, x, number);
  }
  template <class T, int W>
  static KGEN_FN auto combine(detail::Found<T, W> a, detail::Found<T, W> b) {
    return detail::first_of<Greater>(a, b);
  }
  template <class T>
  static KGEN_FN std::int64_t finish(detail::Found<T, 1> found, std::int64_t count) {
    return detail::found_number(found, count);
  }
};

// The number of the least element, the first of several; of the first NaN where there is one; -1 of nothing. Elements
// of several axes are numbered in row-major order.
struct KGEN_KERNEL(argmin) ArgMin {
  static constexpr bool symmetric = true;
  template <Number T, int W>
  static KGEN_FN auto identity() {
    return detail::Found<T, W>{Min::identity<T, W>(), detail::Found<T, W>::nowhere};
  }
  template <class T, int W>
  static KGEN_FN void accumulate(detail::Found<T, W>& found, Vec<T, W> x, std::int64_t number) {
    detail::find_in<Less>(found, x, number);
  }
  template <class T, int W>
  static KGEN_FN auto combine(detail::Found<T, W> a, detail::Found<T, W> b) {
    return detail::first_of<Less>(a, b);
  }
  template <class T>
  static KGEN_FN std::int64_t finish(detail::Found<T, 1> found, std::int64_t count) {
    return detail::found_number(found, count);
  }
};

// Whether all hold; true of nothing.
struct KGEN_KERNEL(all) All {
  static constexpr bool symmetric = true;
  template <Boolean T, int W>
  static KGEN_FN auto identity() {
    return Vec<bool, W>(true);
  }
  template <int W>
  static KGEN_FN Vec<bool, W> combine(Vec<bool, W> a, Vec<bool, W> b) {
    return a & b;
  }
  static KGEN_FN bool finish(Vec<bool, 1> total, std::int64_t) { return total.data; }
};

// Whether any holds; false of nothing.
struct KGEN_KERNEL(any) Any {
  static constexpr bool symmetric = true;
  template <Boolean T, int W>
  static KGEN_FN auto identity() {
    return Vec<bool, W>(false);
  }
  template <int W>
  static KGEN_FN Vec<bool, W> combine(Vec<bool, W> a, Vec<bool, W> b) {
    return a | b;
  }
  static KGEN_FN bool finish(Vec<bool, 1> total, std::int64_t) { return total.data; }
};

// maximum = max(x) and total = sum(exp(x - maximum)): piece by piece, so that memory is read once (Milakov and
// Gimelshein, arXiv:1805.02867). Of nothing, or of -inf alone: -inf and 0.
struct KGEN_KERNEL(softmax_statistics) SoftmaxStatistics {
  template <class T, int W>
  struct Partial {
    Vec<T, W> maximum, total;  // total is relative to this lane's maximum

    friend KGEN_FN Partial<T, W / 2> low_half(const Partial& p) { return {low_half(p.maximum), low_half(p.total)}; }
    friend KGEN_FN Partial<T, W / 2> high_half(const Partial& p) { return {high_half(p.maximum), high_half(p.total)}; }
  };
  template <class T>
  struct Result {
    T maximum, total;
  };

  template <Float T, int W>
  static KGEN_FN auto identity() {
    return prepared<T, W>(-std::numeric_limits<T>::infinity());
  }
  // Each piece of the elements goes through First before it is accumulated, and its result is known then.
  using First = Max;
  template <class T, int W>
  static KGEN_FN auto prepared(Vec<T, W> maximum) {
    return Partial<T, W>{maximum, Vec<T, W>(0)};
  }
  template <class T, int W>
  static KGEN_FN void accumulate(Partial<T, W>& p, Vec<T, W> x) {
    p.total = p.total + exp_for_sum(x - finite(p.maximum));
  }
  template <class T, int W>
  static KGEN_FN Partial<T, W> combine(Partial<T, W> a, Partial<T, W> b) {
    const Vec<T, W> greater = maximum(a.maximum, b.maximum);
    // Not `!=`, so that the compiler sees that no lane differs from itself; of a NaN the total is NaN too.
    if (!any_of((a.maximum < b.maximum) | (a.maximum > b.maximum))) return {greater, a.total + b.total};
    const Vec<T, W> subtract = finite(greater);
    return {greater, a.total * exp_for_sum(a.maximum - subtract) + b.total * exp_for_sum(b.maximum - subtract)};
  }
  template <class T>
  static KGEN_FN Result<T> finish(Partial<T, 1> p, std::int64_t) {
    return {p.maximum.data, p.total.data};
  }

 private:
  // What to subtract: exp(-inf - -inf) is to be 0.
  template <class T, int W>
  static KGEN_FN Vec<T, W> finite(Vec<T, W> m) {
    return select(m == Vec<T, W>(-std::numeric_limits<T>::infinity()), Vec<T, W>(0), m);
  }
};

// The mean and the population variance, in one pass (Welford 1962; combined as Chan, Golub and LeVeque 1979). NaN of
// nothing. Of finite elements the mean is finite, and the variance is infinite where the squares are beyond T's range;
// where an element is infinite, the variance is NaN, and the mean is what the sum is.
struct KGEN_KERNEL(mean_variance) MeanVariance {
  template <class T, int W>
  struct Partial {
    // Of the elements' halves, whose distances are always within T's range. squares: the sum of squared distances
    // from the mean.
    Vec<T, W> mean, squares;
    T count;  // of each lane

    friend KGEN_FN Partial<T, W / 2> low_half(const Partial& p) {
      return {low_half(p.mean), low_half(p.squares), p.count};
    }
    friend KGEN_FN Partial<T, W / 2> high_half(const Partial& p) {
      return {high_half(p.mean), high_half(p.squares), p.count};
    }
  };
  template <class T>
  struct Result {
    T mean, variance;
  };

  template <Float T, int W>
  static KGEN_FN auto identity() {
    return Partial<T, W>{Vec<T, W>(0), Vec<T, W>(0), T(0)};
  }
  template <class T, int W>
  static KGEN_FN void accumulate(Partial<T, W>& p, Vec<T, W> x) {
    p.count += 1;
    const Vec<T, W> half = x * Vec<T, W>(T(0.5)), distance = half - p.mean;
    p.mean = moved(p.mean, distance * (1 / p.count), half);
    p.squares = p.squares + distance * (half - p.mean);
  }
  template <class T, int W>
  static KGEN_FN Partial<T, W> combine(Partial<T, W> a, Partial<T, W> b) {
    const T count = a.count + b.count;
    const T weight = b.count > 0 ? b.count / count : 0;
    const Vec<T, W> distance = b.mean - a.mean;
    // Where one of them is empty the last term is 0, also where the square of the distance is infinite.
    const Vec<T, W> mean = select(is_finite(b.mean), moved(a.mean, distance * weight, b.mean), a.mean + b.mean);
    return {mean, a.squares + b.squares + distance * (distance * (a.count * weight)), count};
  }
  template <class T>
  static KGEN_FN Result<T> finish(Partial<T, 1> p, std::int64_t) {
    constexpr T nothing = std::numeric_limits<T>::quiet_NaN();
    if (!(p.count > 0)) return {nothing, nothing};
    return {2 * p.mean.data, p.squares.data / p.count * 4};
  }

 private:
  template <class T, int W>
  static KGEN_FN Vec<bool, W> is_finite(Vec<T, W> x) {
    return x - x == Vec<T, W>(0);
  }
  // `mean` moved by `step` towards what is added; an infinite one becomes the sum, as infinite means are.
  template <class T, int W>
  static KGEN_FN Vec<T, W> moved(Vec<T, W> mean, Vec<T, W> step, Vec<T, W> added) {
    return mean + select(is_finite(mean), step, added);
  }
};

}  // namespace kgen
