// Rows in lexicographic order and where equal ones begin, against a stable sort: ties, NaN, zeros of both signs, strides.
#include "kgen/row_order.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

int compare(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  return a < b ? -1 : a > b;
}

template <class T>
void check(const View<const T, 2>& x) {
  const std::int64_t rows = x.extent(0);
  const auto compared = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t k = 0; k < x.extent(1); ++k) {
      if (const int order = compare(element(x, Index<2>{a, k}), element(x, Index<2>{b, k}))) return order;
    }
    return 0;
  };
  std::vector<std::int64_t> expected(static_cast<std::size_t>(rows));
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return compared(a, b) < 0; });
  Tensor<std::int64_t, 1> order(Index<1>{rows});
  argsort_rows(x, order.view());
  CHECK(order.elements == expected);

  const auto starts = std::make_unique<bool[]>(static_cast<std::size_t>(rows) + 1);
  run_starts(x, View<bool, 1>(starts.get(), {rows}));
  for (std::int64_t i = 0; i < rows; ++i) {
    REQUIRE(starts[static_cast<std::size_t>(i)] == (i == 0 || compared(i - 1, i) != 0));
  }
}

template <class T>
Tensor<T, 2> with_ties(Index<2> shape, std::uint32_t seed) {
  Tensor<T, 2> x(shape);
  std::mt19937 generator(seed);
  for (T& each : x.elements) each = static_cast<T>(static_cast<float>(generator() % 3));
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("argsort_rows, run_starts: rows in any number", T,
                   KGEN_TYPES((float, std::int64_t), double, bf16, std::uint8_t)) {
  for (const std::int64_t rows : {0, 1, 2, 3, 5, 8, 17, 100, 1023}) {
    for (const std::int64_t width : {0, 1, 2, 5}) {
      const auto x = with_ties<T>(Index<2>{rows, width}, 7);
      check<T>(x.view());
      check<T>(x.view().template flip<0>());
    }
  }
  const auto across = with_ties<T>(Index<2>{4, 300}, 8);
  check<T>(across.view().template permute<1, 0>());
}

TEST_CASE("argsort_rows, run_starts: NaN, infinities and zeros of both signs") {
  const float specials[] = {not_a_number, 0.0f, -0.0f, infinity, -infinity, -not_a_number, 1.0f, not_a_number, 0.0f, -0.0f,
                            2.0f, 2.0f};
  check<float>(View<const float, 2>(specials, {12, 1}));
  check<float>(View<const float, 2>(specials, {6, 2}));
  check<float>(View<const float, 2>(specials, {4, 3}));
}
