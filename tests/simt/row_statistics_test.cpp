// Products that make numbers of the rows that they store, as the executor does it.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "kgen/ops/elementary.hpp"
#include "kgen/ops/reductions.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// map(h) reduced, a number for each row.
template <class Reduction, class Map>
struct Statistics {
  View<bf16, 2> h;
  View<float, 2> made;
  KGEN_FN Index<2> shape() const { return h.shape(); }
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto total = row.reduce(Reduction{}, row.map(Map{}, row.load(h)));
    row.store_scalar(made, row.map(Mul{}, total, 2.0f));
  }
};

struct Sum2 {
  View<const bf16, 2> x;
  View<bf16, 2> h;
  template <int W>
  KGEN_FN auto operator()(Index<2> at, Vec<float, W> product) const {
    const auto sum = Add::apply(product, x.load<W>(at));
    h.store(at, sum);
    return sum;
  }
};

struct Product2 {
  View<bf16, 2> h;
  template <int W>
  KGEN_FN auto operator()(Index<2> at, Vec<float, W> gate, Vec<float, W> up) const {
    const auto gated = Mul::apply(gate, up);
    h.store(at, gated);
    return gated;
  }
};

// Rows of h, and what the numbers of each row must be: of h as it lies in memory.
template <class Of>
void expect_rows(const Tensor<bf16, 2>& h, const Tensor<float, 2>& made, const Of& of) {
  for (std::int64_t row = 0; row < h.shape[0]; ++row) {
    double value = of(row);
    const double got = element(made.view(), Index<2>{row, 0});
    INFO("row ", row);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(got));
    } else {
      REQUIRE(std::abs(got - 2 * value) <= 1e-5 * (1 + std::abs(value)));
    }
  }
}

double mean_square(const Tensor<bf16, 2>& h, std::int64_t row) {
  double total = 0;
  for (std::int64_t n = 0; n < h.shape[1]; ++n) total += std::pow(element(h.view(), Index<2>{row, n}), 2);
  return total / static_cast<double>(h.shape[1]);
}
double greatest(const Tensor<bf16, 2>& h, std::int64_t row) {
  double most = 0;
  for (std::int64_t n = 0; n < h.shape[1]; ++n) {
    const double each = std::abs(element(h.view(), Index<2>{row, n}));
    if (std::isnan(each)) return each;
    most = std::max(most, each);
  }
  return most;
}

// h = a * b + x with its mean squares and absolute maxima, by these launches in each order of the threads.
void check(std::int64_t M, std::int64_t N, std::int64_t K, const std::string& launches, int multiprocessors = 2) {
  const Matrix<bf16> a(Index<2>{M, K}, 1), b(Index<2>{K, N}, 2);
  Tensor<bf16, 2> x = random_tensor<bf16>(Index<2>{M, N}, 3);
  const std::int64_t special = M / 2;
  x.view().store(Index<2>{special, N - 1}, Vec<float, 1>(std::numeric_limits<float>::quiet_NaN()));
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().multiprocessors = multiprocessors;
    Tensor<bf16, 2> h(Index<2>{M, N}), again(Index<2>{M, N});
    Tensor<float, 2> means(Index<2>{M, 1}), maxima(Index<2>{M, 1});
    const View<const bf16, 2> read(x.elements.data(), x.shape);
    matmul(a.view(), b.view(), with_statistics(Sum2{read, h.view()}, Statistics<Mean, Square>{h.view(), means.view()}));
    CHECK(device.take() == launches);
    matmul(a.view(), b.view(),
           with_statistics(Sum2{read, again.view()}, Statistics<Max, Abs>{again.view(), maxima.view()}));
    CHECK(device.take() == launches);
    expect_rows(h, means, [&](std::int64_t row) { return mean_square(h, row); });
    expect_rows(again, maxima, [&](std::int64_t row) { return greatest(again, row); });
    for_each_position(h.shape, [&](Index<2> at) {
      const double value = expected(a.view(), b.view(), at) + element(read, at), got = element(h.view(), at);
      INFO("at ", at[0], ", ", at[1]);
      if (!std::isnan(value)) REQUIRE(std::abs(got - value) <= 1e-2 * (1 + std::abs(value)));
    });
  }
}

}  // namespace

TEST_CASE("row statistics: tiles make parts of them, which a launch behind combines") {
  check(600, 520, 72, "warpgroup_matmul x2, finish_statistics x5");
  check(600, 64, 136, "warpgroup_matmul x2, finish_statistics x5");  // tiles of 64 columns
}

TEST_CASE("row statistics: few rows, and lines that are no vectors, are read again") {
  check(40, 72, 64, "skinny_matmul x1, rows, a wave each x5");
  check(150, 131, 40, "lay_out_lines x1, warpgroup_matmul x2, rows, from memory x150");
}

TEST_CASE("row statistics: of two products that are taken jointly, and of a result without an epilogue") {
  Hopper device;
  simt::device().multiprocessors = 1;  // two might bring operands for each other, which depends on where these lie
  const Matrix<bf16> a(Index<2>{500, 72}, 1), gate(Index<2>{72, 320}, 2), up(Index<2>{72, 320}, 3);
  Tensor<bf16, 2> gated(Index<2>{500, 320}), h(Index<2>{500, 320});
  Tensor<float, 2> maxima(Index<2>{500, 1}), means(Index<2>{500, 1});
  matmul(a.view(), several(gate.view(), up.view()),
         with_statistics(Product2{gated.view()}, Statistics<Max, Abs>{gated.view(), maxima.view()}));
  CHECK(device.take() == "warpgroup_matmul x1, finish_statistics x4");
  expect_rows(gated, maxima, [&](std::int64_t row) { return greatest(gated, row); });
  matmul(a.view(), gate.view(), with_statistics(h.view(), Statistics<Mean, Square>{h.view(), means.view()}));
  CHECK(device.take() == "warpgroup_matmul x1, finish_statistics x4");
  expect_rows(h, means, [&](std::int64_t row) { return mean_square(h, row); });
}

#endif
