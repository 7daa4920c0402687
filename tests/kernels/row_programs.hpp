// Row programs that tests run, and what they should give: references in double.
#pragma once

#include <functional>

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/comparison.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "testing.hpp"

namespace kgen::testing {

// What a row is reduced by: a reduction, or one of the row's elements as `To`.
template <class To, class Reduction>
struct Converted {};
template <class Row, class Reduction, class A>
auto reduced_by(Row& row, Reduction reduction, const A& x) {
  return row.reduce(reduction, x);
}
template <class Row, class To, class Reduction, class A>
auto reduced_by(Row& row, Converted<To, Reduction>, const A& x) {
  return row.reduce(Reduction{}, row.map(Cast<To>{}, x));
}

// One result per row: result[outer..., 1...] = reduction of x.
template <class Reduction, class T, class U, int R>
struct ReduceRow {
  View<const T, R> x;
  View<U, R> result;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store_scalar(result, reduced_by(row, Reduction{}, row.load(x)));
  }
};

// The shape with its last K extents 1.
template <int K, int R>
Index<R> reduced(Index<R> shape) {
  for (int axis = R - K; axis < R; ++axis) shape[axis] = 1;
  return shape;
}

// Checks a reduction over the last K axes against reference(values of the row), by rows() or by rows_across().
template <class Reduction, int K, class U, bool Across = false, class T, int R, class Reference>
void check_reduction(View<const T, R> x, Reference reference, double tolerance, Stream stream = {}) {
  Tensor<U, R> result(reduced<K>(x.shape()));
  const ReduceRow<Reduction, T, U, R> program{x, result.view()};
  if constexpr (Across) {
    rows_across<K>(x.shape(), program, stream);
  } else {
    rows<K>(x.shape(), program, stream);
  }
  const Index<R - K> outer = first_axes<R - K>(x.shape());
  for (std::int64_t i = 0; i < element_count(outer); ++i) {
    const Index<R - K> at = unflatten(i, outer);
    std::vector<double> values;
    for_each_position(last_axes<K>(x.shape()), [&](Index<K> inner) { values.push_back(element(x, join(at, inner))); });
    const double expected = reference(values), got = static_cast<double>(result.elements[static_cast<std::size_t>(i)]);
    INFO("row ", i, " got ", got, " expected ", expected);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(got));
    } else if (std::isinf(expected)) {
      REQUIRE(got == expected);
    } else {
      REQUIRE(std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected)));
    }
  }
}

inline double sum(const std::vector<double>& v) {
  double total = 0;
  for (double x : v) total += x;
  return total;
}
inline double mean(const std::vector<double>& v) { return sum(v) / static_cast<double>(v.size()); }
inline double product(const std::vector<double>& v) {
  double total = 1;
  for (double x : v) total *= x;
  return total;
}
inline double greatest(const std::vector<double>& v) {
  double best = -std::numeric_limits<double>::infinity();
  for (double x : v)
    best = std::isnan(x) || std::isnan(best) ? std::numeric_limits<double>::quiet_NaN() : std::max(best, x);
  return best;
}
inline double least(const std::vector<double>& v) {
  double best = std::numeric_limits<double>::infinity();
  for (double x : v)
    best = std::isnan(x) || std::isnan(best) ? std::numeric_limits<double>::quiet_NaN() : std::min(best, x);
  return best;
}
// The number of the first that none stands before: NaN stands before all; -1 of nothing.
template <class Before>
inline double first_place(const std::vector<double>& v, Before before) {
  double best = v.empty() ? -1 : 0;
  for (std::size_t i = 1; i < v.size(); ++i) {
    const double leader = v[static_cast<std::size_t>(best)];
    if (!std::isnan(leader) && (std::isnan(v[i]) || before(v[i], leader))) best = static_cast<double>(i);
  }
  return best;
}
inline double place_of_greatest(const std::vector<double>& v) { return first_place(v, std::greater<>()); }
inline double place_of_least(const std::vector<double>& v) { return first_place(v, std::less<>()); }

inline double variance(const std::vector<double>& v) {
  const double center = mean(v);
  double total = 0;
  for (double x : v) total += (x - center) * (x - center);
  return total / static_cast<double>(v.size());
}
inline double exponentials(const std::vector<double>& v) {
  const double maximum = greatest(v);
  double total = 0;
  for (double x : v) total += x == maximum ? 1 : std::exp(x - maximum);
  return total;
}

struct Softmax {
  View<const float, 2> x;
  View<float, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto maximum = row.reduce(Max{}, x_row);
    const auto e = row.keep(row.map(Exp{}, row.map(Sub{}, x_row, maximum)));
    const auto total = row.reduce(Sum{}, e);
    row.store(y, row.map(Div{}, e, total));
  }
};

struct OnlineSoftmax {
  View<const float, 2> x;
  View<float, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto [maximum, total] = row.reduce(SoftmaxStatistics{}, x_row);
    row.store(y, row.map(Div{}, row.map(Exp{}, row.map(Sub{}, x_row, maximum)), total));
  }
};

// h = x + residual; y = h * rsqrt(mean(h * h) + eps) * weight * gate, with both h and y stored, and gate one per row.
struct AddNorm {
  View<const float, 2> x, residual, weight, gate;
  View<float, 2> h;
  View<bf16, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto sum = row.keep(row.map(Add{}, row.load(x), row.load(residual)));
    const auto mean_square = row.reduce(Mean{}, row.map(Mul{}, sum, sum));
    const auto scale = row.map(Rsqrt{}, row.map(Add{}, mean_square, 1e-5f));
    const auto gated = row.map(Mul{}, scale, row.load_scalar(gate));
    row.store(h, sum);
    row.store(y, row.map(Mul{}, row.map(Mul{}, sum, gated), row.load(weight)));
  }
};

template <class T>
struct MeanVarianceRow {
  View<const T, 2> x;
  View<T, 2> mean, variance;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto [center, spread] = row.reduce(MeanVariance{}, row.load(x));
    row.store_scalar(mean, center);
    row.store_scalar(variance, spread);
  }
};

struct MaskedRows {
  View<const bool, 2> masked;
  View<float, 2> x;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store(x, row.map(Where{}, row.load_scalar(masked), 0.0f, row.load(x)));
  }
};

struct StatisticsRow {
  View<const float, 2> x;
  View<float, 2> maximum, total;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto [m, t] = row.reduce(SoftmaxStatistics{}, row.load(x));
    row.store_scalar(maximum, m);
    row.store_scalar(total, t);
  }
};

// Squares itself again and again: the expression would double in size each time.
struct Deep {
  View<const float, 2> x;
  View<float, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto a = row.map(Mul{}, row.load(x), row.load(x));
    const auto b = row.map(Add{}, a, a);
    const auto c = row.map(Mul{}, b, b);
    const auto d = row.map(Sub{}, c, b);
    const auto e = row.map(Mul{}, d, d);
    const auto f = row.map(Add{}, e, e);
    const auto g = row.map(Add{}, f, f);
    const auto h = row.map(Add{}, g, g);
    row.store(y, row.map(Add{}, h, h));
  }
};

template <class Program>
void check_softmax(Index<2> shape, Stream stream) {
  const auto x = random_tensor<float>(shape, 3, -10, 10);
  Tensor<float, 2> y(shape);
  rows<1>(shape, Program{x.view(), y.view()}, stream);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    std::vector<double> values;
    for (std::int64_t j = 0; j < shape[1]; ++j) values.push_back(element(x.view(), Index<2>{i, j}));
    const double maximum = greatest(values), total = exponentials(values);
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      const double expected = std::exp(values[static_cast<std::size_t>(j)] - maximum) / total;
      REQUIRE(std::abs(element(y.view(), Index<2>{i, j}) - expected) <= 3e-6 * expected + 1e-12);
    }
  }
}

}  // namespace kgen::testing
