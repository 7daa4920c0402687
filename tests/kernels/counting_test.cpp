// Whole numbers at equal distances, and how often numbers occur: none, few and many bins, numbers that have none.
#include "kgen/bincount.hpp"
#include "kgen/iota.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T, int R>
void check_bins(const View<const T, R>& x, std::int64_t bins) {
  Tensor<std::int64_t, 1> out(Index<1>{bins});
  std::vector<std::int64_t> expected(static_cast<std::size_t>(bins), 0);
  for_each_position(x.shape(), [&](Index<R> at) {
    const double number = element(x, at);
    if (number >= 0 && number < static_cast<double>(bins)) ++expected[static_cast<std::size_t>(number)];
  });
  bincount(x, out.view());
  INFO("bins ", bins);
  CHECK(out.elements == expected);
}

struct Scaled {  // an epilogue
  View<const float, 1> factors;
  View<float, 1> y;
  template <int W>
  KGEN_FN void operator()(Index<1> at, Vec<std::int64_t, W> lanes) const {
    y.store(at, Mul::apply(convert<float>(lanes), factors.load<W>(at)));
  }
};

}  // namespace

TEST_CASE("iota: counts, starts and steps of either sign") {
  for (const std::int64_t count : {0, 1, 5, 64, 1000, 5001}) {
    for (const std::int64_t start : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 40}) {
      for (const std::int64_t step : {1, 0, -7}) {
        Tensor<std::int64_t, 1> out(Index<1>{count}), other(Index<1>{count});
        iota(start, step, out.view());
        iota_to(count, start, step, other.view());
        for (std::int64_t i = 0; i < count; ++i) REQUIRE(out.elements[static_cast<std::size_t>(i)] == start + i * step);
        CHECK(out.elements == other.elements);
      }
    }
  }
}

TEST_CASE("iota: an epilogue, and a result with a stride") {
  const auto factors = random_tensor<float>(Index<1>{101}, 1);
  Tensor<float, 1> y(factors.shape);
  iota_to(101, -50, 1, Scaled{factors.view(), y.view()});
  for (std::int64_t i = 0; i < 101; ++i) {
    const auto at = static_cast<std::size_t>(i);
    REQUIRE(y.elements[at] == static_cast<float>(i - 50) * factors.elements[at]);
  }
  Tensor<std::int64_t, 2> wide(Index<2>{20, 3});
  iota(7, 2, wide.view().select<1>(1));
  for (std::int64_t i = 0; i < 20; ++i) {
    REQUIRE(element(wide.view(), Index<2>{i, 1}) == 7 + 2 * i);
    REQUIRE(element(wide.view(), Index<2>{i, 0}) == -77);
  }
}

TEST_CASE("length_of: what a size is, also of a line that repeats one element") {
  const float one = 3;
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{1}, std::int64_t{77}, std::int64_t{1} << 40}) {
    std::int64_t size = -1;
    length_of(View<const float, 1>(&one, {length}, {0}), View<std::int64_t, 0>(&size, Index<0>{}));
    CHECK(size == length);
  }
}

TEST_CASE_TEMPLATE("bincount: every number of bins", T,
                   KGEN_TYPES((std::int32_t), std::int8_t, std::uint8_t, std::int64_t, std::uint64_t)) {
  for (const Index<2>& shape : {Index<2>{1, 1}, {3, 50}, {0, 4}, {40, 300}}) {
    Tensor<T, 2> x(shape);
    std::mt19937 generator(4);
    for (T& each : x.elements) each = static_cast<T>(generator() % 120 - 10);
    for (const std::int64_t bins : {0, 1, 3, 100, 5000}) {
      check_bins<T, 2>(x.view(), bins);
      check_bins<T, 2>(x.view().template permute<1, 0>(), bins);
    }
  }
}
