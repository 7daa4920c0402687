// Products of few rows whose lines begin anywhere, as the executor does what tensor cores do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// c = a * b by those launches, for each order of the threads: b lies either way, `gap` elements between lines, which
// begin behind so many others; a's lines follow each other.
template <class T>
void check(std::int64_t M, std::int64_t N, std::int64_t K, int multiprocessors, int before, int gap,
           const std::string& across, const std::string& along) {
  const auto a = random_tensor<T>(Index<2>{M, K}, 1);
  const auto b = random_tensor<T>(Index<2>{K, before + N + gap}, 2);
  const auto turned = random_tensor<T>(Index<2>{N, before + K + gap}, 3);
  const View<const T, 2> left = a.view(), lines = b.view(), columns = turned.view();
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().multiprocessors = multiprocessors;
    Tensor<float, 2> c(Index<2>{M, N});
    const auto right = lines.template slice<1>(before, N);
    matmul(left, right, c.view());
    CHECK(device.take() == across);
    expect_product(c.view(), left, right);
    const auto deep = columns.template slice<1>(before, K).template permute<1, 0>();
    matmul(left, deep, c.view());
    CHECK(device.take() == along);
    expect_product(c.view(), left, deep);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("products of few rows: rows, columns and depths below and beyond a step's", T, bf16, f16) {
  const std::string one = "few_rows_matmul x1", two = "few_rows_matmul x2", nine = "few_rows_matmul x9";
  check<T>(1, 7, 5, 1, 0, 0, one, one);
  check<T>(1, 1, 1, 1, 1, 2, one, one);
  check<T>(8, 65, 129, 1, 3, 0, two, "few_rows_matmul x5");
  check<T>(5, 130, 63, 1, 0, 1, "few_rows_matmul x3", nine);
  check<T>(7, 77, 300, 1, 1, 4, two, "few_rows_matmul x5");
  check<T>(6, 66, 71, 1, 7, 0, two, "few_rows_matmul x5");
}

TEST_CASE("products of few rows: one operand alone that lies so") {
  check<bf16>(3, 64, 77, 1, 0, 0, "lay_out_lines x1, skinny_matmul x1", "few_rows_matmul x4");  // the left one
  check<bf16>(3, 64, 80, 1, 1, 0, "few_rows_matmul x1", "few_rows_matmul x4");                  // the right one
  check<bf16>(3, 64, 80, 1, 8, 8, "skinny_matmul x1", "skinny_matmul x1");                      // none
  check<bf16>(9, 65, 77, 1, 0, 0, "lay_out_lines x2, skinny_matmul x1", "lay_out_lines x2, skinny_matmul x1");
}

TEST_CASE("products of few rows: the blocks of a cluster share the depth") {
  check<bf16>(2, 60, 1111, 8, 0, 1, "few_rows_matmul x6", "few_rows_matmul x8");
  check<f16>(7, 60, 1111, 4, 5, 0, "few_rows_matmul x4", "few_rows_matmul x4");
}

TEST_CASE("products of few rows: floats, right operands across the depth, keep all of their mantissa") {
  for (const auto& extents : {Index<3>{1, 7, 5}, {8, 132, 64}, {3, 128, 67}, {5, 257, 131}, {1, 1, 300}}) {
    const auto a = random_tensor<float>(Index<2>{extents[0], extents[2]}, 1);
    const auto b = random_tensor<float>(Index<2>{extents[2], extents[1]}, 2);
    const View<const float, 2> left = a.view(), right = b.view();
    for (const int multiprocessors : {1, 16}) {
      Hopper device;
      simt::device().multiprocessors = multiprocessors;
      Tensor<float, 2> c(Index<2>{extents[0], extents[1]});
      matmul(left, right, c.view());
      const std::string launches = device.take();
      CHECK(launches.substr(0, launches.find(" x")) == "few_rows_matmul");
      for_each_position(c.shape, [&](Index<2> at) {
        const double value = expected(left, right, at);
        REQUIRE(std::abs(element(c.view(), at) - value) <= 3e-7 * (1 + static_cast<double>(extents[2])));
      });
    }
  }
}

TEST_CASE("products of few rows: several, apart and jointly, in one launch") {
  Hopper device;
  simt::device().multiprocessors = 1;
  const auto a = random_tensor<f16>(Index<2>{6, 207}, 1), gate = random_tensor<f16>(Index<2>{207, 71}, 2);
  const auto up = random_tensor<f16>(Index<2>{207, 71}, 3), other = random_tensor<f16>(Index<2>{207, 130}, 4);
  Tensor<float, 2> gated(Index<2>{6, 71}), y(Index<2>{6, 130});
  matmul(a.view(), several(gate.view(), up.view(), other.view()), several(joint<2>(Gated{gated.view()}), y.view()));
  CHECK(device.take() == "few_rows_matmul x4");
  expect_product(y.view(), a.view(), other.view());
  for_each_position(gated.shape, [&](Index<2> at) {
    const double value = expected(a.view(), gate.view(), at) * expected(a.view(), up.view(), at);
    REQUIRE(std::abs(element(gated.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

TEST_CASE("products of few rows: NaN and infinity reach the results that they belong to, and no others") {
  Hopper device;
  auto a = random_tensor<bf16>(Index<2>{6, 70}, 1), b = random_tensor<bf16>(Index<2>{70, 41}, 2);
  a.elements[3 * 70 + 68] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  a.elements[4 * 70 + 69] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());  // beyond what is multiplied
  b.elements[2 * 41 + 7] = static_cast<bf16>(std::numeric_limits<float>::infinity());
  b.elements[69 * 41 + 9] = static_cast<bf16>(std::numeric_limits<float>::infinity());  // beyond
  Tensor<float, 2> c(Index<2>{6, 41});
  const View<const bf16, 2> left = a.view(), right = b.view();
  matmul(left.slice<1>(0, 69), right.slice<0>(0, 69), c.view());
  CHECK(device.take() == "few_rows_matmul x1");
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = element(c.view(), at);
    CHECK(std::isnan(value) == (at[0] == 3));
    if (at[0] != 3) CHECK(std::isinf(value) == (at[1] == 7));
  });
}

#endif
