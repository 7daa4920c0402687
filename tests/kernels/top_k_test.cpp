// Selections against a stable sort: every axis, few and many of a line, ties, NaN, zeros of both signs, strides.
#include "kgen/top_k.hpp"

#include <algorithm>
#include <numeric>

#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// Whether `a` stands before `b` in ascending order.
bool is_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

template <class T, int R>
void check(const View<const T, R>& x, int axis, std::int64_t k, bool largest) {
  Index<R> shape = x.shape();
  shape[axis] = k;
  Tensor<T, R> values(shape);
  Tensor<std::int64_t, R> indices(shape);
  top_k(x, k, axis - R, largest, values.view(), indices.view());
  if (k % 2 == 0) {  // the same, of a kernel that sees k in the shape of its results
    std::fill(values.elements.begin(), values.elements.end(), T(1));
    std::fill(indices.elements.begin(), indices.elements.end(), -1);
    sized_top_k(x, axis, largest, values.view(), indices.view());
  }
  Index<R> lines = x.shape();
  lines[axis] = 1;
  for_each_position(lines, [&](Index<R> at) {
    const auto value = [&](std::int64_t i) {
      Index<R> from = at;
      from[axis] = i;
      return element(x, from);
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(x.extent(axis)));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return largest ? is_less(value(b), value(a)) : is_less(value(a), value(b));
    });
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t expected = order[static_cast<std::size_t>(i)];
      Index<R> to = at;
      to[axis] = i;
      INFO("axis ", axis, " of extent ", x.extent(axis), ", k ", k, largest ? ", largest" : "", ", element ", i);
      REQUIRE(element(indices.view(), to) == static_cast<double>(expected));
      const double got = element(values.view(), to), wanted = value(expected);
      REQUIRE((got == wanted || (std::isnan(got) && std::isnan(wanted))));
      REQUIRE(std::signbit(got) == std::signbit(wanted));
    }
  });
}

// Few different numbers, so that many are equal.
template <class T, int R>
Tensor<T, R> with_ties(Index<R> shape, std::uint32_t seed) {
  Tensor<T, R> result(shape);
  std::mt19937 generator(seed);
  for (T& each : result.elements) {
    const auto whole = static_cast<std::int64_t>(generator() % 37);
    each = static_cast<T>(static_cast<float>(std::is_unsigned_v<T> ? whole : whole - 18));
  }
  return result;
}

struct Negated {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(x.load<W>(at), -1.0f);
  }
};

struct Doubled {  // an epilogue
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> lanes) const {
    y.store(at, Mul::apply(lanes, 2.0f));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("top_k: every axis and number of elements", T,
                   KGEN_TYPES((float, std::int64_t), double, bf16, f16, std::int8_t, std::uint8_t, std::int32_t,
                              std::uint64_t)) {
  constexpr Index<3> shapes[] = {{1, 1, 1}, {3, 7, 5}, {2, 33, 9}, {4, 3, 70}, {0, 3, 4}, {3, 4, 0}, {3, 0, 4}};
  for (const Index<3>& shape : shapes) {
    const auto x = with_ties<T>(shape, 1);
    for (int axis = 0; axis < 3; ++axis) {
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, shape[axis] / 2, shape[axis]}) {
        if (k > shape[axis]) continue;
        check<T, 3>(x.view(), axis, k, k % 2 == 0);
        check<T, 3>(x.view(), axis, k, k % 2 != 0);
      }
    }
  }
}

TEST_CASE("top_k: NaN, infinities and zeros of both signs") {
  const float specials[] = {0.0f, -0.0f, infinity, not_a_number, -infinity, -not_a_number, 1.0f, -0.0f, 0.0f, infinity};
  const double wide[] = {0.0, -0.0, infinity, not_a_number, -infinity, -not_a_number, 1e300, -1e-310, 0.0, infinity};
  for (const bool largest : {false, true}) {
    for (const std::int64_t k : {1, 4, 10}) {
      check<float, 1>(View<const float, 1>(specials, {10}), 0, k, largest);
      check<double, 1>(View<const double, 1>(wide, {10}), 0, k, largest);
    }
  }
}

TEST_CASE("top_k: the ends of integers of 64 bits, which no float tells apart") {
  const std::uint64_t x[] = {~std::uint64_t{0}, ~std::uint64_t{0} - 1, 0, 1, std::uint64_t{1} << 63};
  std::uint64_t values[5];
  std::int64_t indices[5];
  top_k(View<const std::uint64_t, 1>(x, {5}), 5, 0, true, View<std::uint64_t, 1>(values, {5}),
        View<std::int64_t, 1>(indices, {5}));
  CHECK(std::vector(indices, indices + 5) == std::vector<std::int64_t>{0, 1, 4, 3, 2});
  const std::int64_t y[] = {-1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  std::int64_t least[3];
  top_k(View<const std::int64_t, 1>(y, {3}), 3, 0, false, View<std::int64_t, 1>(least, {3}),
        View<std::int64_t, 1>(indices, {3}));
  CHECK(std::vector(indices, indices + 3) == std::vector<std::int64_t>{1, 0, 2});
}

TEST_CASE("top_k: long lines, of which few or many are wanted") {
  const auto x = random_tensor<float>(Index<2>{2, 9001}, 3);
  for (const std::int64_t k : {1, 1024, 1025, 9001}) check<float, 2>(x.view(), 1, k, k != 1025);
  const auto ties = with_ties<std::int16_t>(Index<2>{1, 5000}, 4);
  for (const std::int64_t k : {40, 5000}) check<std::int16_t, 2>(ties.view(), 1, k, true);
  const auto wide = with_ties<double>(Index<2>{20000, 1}, 5);
  for (const std::int64_t k : {700, 20000}) check<double, 2>(wide.view(), 0, k, false);
}

TEST_CASE("sort, argsort: all of each line, along either axis") {
  const auto x = with_ties<float>(Index<2>{21, 300}, 7);
  for (const int axis : {0, 1}) {
    for (const bool descending : {false, true}) {
      Tensor<float, 2> values(x.shape), sorted(x.shape);
      Tensor<std::int64_t, 2> indices(x.shape), places(x.shape);
      top_k(x.view(), x.shape[axis], axis, descending, values.view(), indices.view());
      sort(x.view(), axis - 2, descending, sorted.view());
      argsort(x.view(), axis, descending, places.view());
      CHECK(sorted.elements == values.elements);
      CHECK(places.elements == indices.elements);
    }
  }
}

TEST_CASE("top_k: strides, a prologue and an epilogue") {
  const auto x = with_ties<float>(Index<2>{12, 45}, 6);
  check<float, 2>(x.view().permute<1, 0>(), 0, 7, true);
  check<float, 2>(x.view().permute<1, 0>().flip<0>(), 1, 12, false);
  Tensor<float, 2> doubled(Index<2>{12, 5}), least(doubled.shape);
  Tensor<std::int64_t, 2> indices(doubled.shape), others(doubled.shape);
  top_k(Negated{x.view()}, 5, 1, true, Doubled{doubled.view()}, indices.view());
  top_k(x.view(), 5, 1, false, least.view(), others.view());
  CHECK(indices.elements == others.elements);
  for (std::size_t i = 0; i < least.elements.size(); ++i) REQUIRE(doubled.elements[i] == -2 * least.elements[i]);
}
