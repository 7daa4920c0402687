// Factors against the matrix that they make again, in double; ranks, sizes, strides, singular matrices.
#include "kgen/lu.hpp"

#include <utility>

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class V>
void check(const V& x, double tolerance) {
  using T = std::remove_const_t<typename V::element_type>;
  constexpr int R = V::rank;
  Tensor<T, R> factors(x.shape());
  Tensor<std::int64_t, R - 1> pivots(first_axes<R - 1>(x.shape()));
  lu_factor(x, factors.view(), pivots.view());
  const std::int64_t size = x.extent(R - 1);
  for_each_position(first_axes<R - 2>(x.shape()), [&](Index<R - 2> matrix) {
    const auto factor = [&](std::int64_t i, std::int64_t j) {
      return element(factors.view(), join(matrix, Index<2>{i, j}));
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) order[static_cast<std::size_t>(i)] = i;
    for (std::int64_t k = 0; k < size; ++k) {
      const auto pivot = static_cast<std::int64_t>(element(pivots.view(), join(matrix, Index<1>{k})));
      REQUIRE(pivot >= k);
      REQUIRE(pivot < size);
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(pivot)]);
    }
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < size; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k <= std::min(i, j); ++k) sum += (k == i ? 1 : factor(i, k)) * factor(k, j);
        if (j < i) REQUIRE(std::abs(factor(i, j)) <= 1);
        INFO(size, " rows, at ", i, ", ", j);
        const double exact = element(x, join(matrix, Index<2>{order[static_cast<std::size_t>(i)], j}));
        REQUIRE(std::abs(sum - exact) <= tolerance * double(size + 1));
      }
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("lu_factor: every size", T, float, double) {
  const double tolerance = std::is_same_v<T, double> ? 1e-15 : 1e-6;
  for (const std::int64_t size : {1, 2, 3, 5, 8, 11, 16, 33, 70}) {
    check(random_tensor<T>(Index<2>{size, size}, 1).view(), tolerance);
    check(random_tensor<T>(Index<4>{2, 3, size, size}, 2).view(), tolerance);
    const auto wide = random_tensor<T>(Index<3>{size, 4, size}, 3);
    check(wide.view().template permute<1, 0, 2>(), tolerance);
    check(wide.view().template permute<1, 2, 0>(), tolerance);
  }
  check(random_tensor<T>(Index<3>{0, 4, 4}, 4).view(), tolerance);
  check(random_tensor<T>(Index<3>{3, 0, 0}, 5).view(), tolerance);
}

TEST_CASE("lu_factor: of a singular matrix, and into memory that lies across") {
  Tensor<double, 2> x(Index<2>{3, 3});
  x.elements = {1, 2, 3, 2, 4, 6, 0, 1, 5};
  check(std::as_const(x).view(), 1e-15);
  x.elements = std::vector<double>(9, 0);
  check(std::as_const(x).view(), 1e-15);
  const auto whole = random_tensor<double>(Index<2>{9, 9}, 6);
  Tensor<double, 2> straight(whole.shape), across(whole.shape);
  Tensor<std::int64_t, 1> pivots(Index<1>{9}), others(Index<1>{9});
  lu_factor(whole.view(), straight.view(), pivots.view());
  lu_factor(whole.view(), across.view().permute<1, 0>(), others.view());
  CHECK(pivots.elements == others.elements);
  for_each_position(whole.shape, [&](Index<2> at) {
    REQUIRE(element(across.view(), Index<2>{at[1], at[0]}) == doctest::Approx(element(straight.view(), at)));
  });
}
