// Products of operands whose lines begin anywhere, multiplied as they lie, as the executor does what tensor cores do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// c = a * b by those launches, for each order of the threads: b lies either way. Lines begin so many elements behind an
// aligned address, with a gap of NaN between them.
template <class T>
void check(std::int64_t M, std::int64_t N, std::int64_t K, int multiprocessors, int before, int gap,
           const std::string& across, const std::string& along) {
  const auto lines = [&](std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
    auto all = random_tensor<T>(Index<2>{rows, before + columns + gap}, seed);
    for_each_position(all.shape, [&](Index<2> at) {
      if (at[1] >= before && at[1] < before + columns) return;
      all.elements[static_cast<std::size_t>(at[0] * all.shape[1] + at[1])] =
          static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    });
    return all;
  };
  const auto a = lines(M, K, 1), b = lines(K, N, 2), turned = lines(N, K, 3);
  const auto shown = [&](const Tensor<T, 2>& all, std::int64_t columns) {
    return View<const T, 2>(all.view()).template slice<1>(before, columns);
  };
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    SmallTiles device(multiprocessors);
    simt::device().order = order;
    Tensor<float, 2> c(Index<2>{M, N});
    const auto left = shown(a, K), right = shown(b, N);
    matmul(left, right, c.view());
    CHECK(device.take() == across);
    expect_product(c.view(), left, right);
    const auto deep = shown(turned, K).template permute<1, 0>();
    matmul(left, deep, c.view());
    CHECK(device.take() == along);
    expect_product(c.view(), left, deep);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("products of lines: rows, columns and depths below and beyond a tile's", T, bf16, f16) {
  const std::string one = "line_matmul x1", four = "line_matmul x4";
  check<T>(9, 7, 5, 16, 0, 0, one, one);
  check<T>(64, 64, 63, 16, 0, 0, one, one);
  check<T>(64, 63, 64, 16, 1, 1, one, one);
  check<T>(65, 66, 129, 16, 0, 0, four, four);
  check<T>(97, 70, 71, 16, 3, 3, four, four);
  check<T>(33, 130, 201, 16, 7, 0, "line_matmul x6", "line_matmul x6");
}

// Lines of even lengths and more come as words of 4, 8 and 16 bytes.
TEST_CASE("products of lines: words of each size, and ends within one") {
  const std::string four = "line_matmul x4";
  check<bf16>(70, 66, 98, 16, 0, 0, four, four);
  check<bf16>(65, 67, 135, 16, 2, 3, four, four);
  check<bf16>(66, 68, 140, 16, 4, 4, four, four);
  check<f16>(80, 100, 300, 16, 8, 4, "line_matmul x8", "line_matmul x8");
}

TEST_CASE("products of lines: the blocks of a cluster share the depth") {
  check<bf16>(20, 30, 1111, 16, 0, 0, "line_matmul x6", "line_matmul x6");
  check<bf16>(66, 60, 1030, 16, 4, 2, "line_matmul x12", "line_matmul x12");
}

TEST_CASE("products of lines: words by blocks of 128 threads") {
  SmallTiles device(16);
  const auto a = random_tensor<bf16>(Index<2>{130, 250}, 1), b = random_tensor<bf16>(Index<2>{250, 330}, 2);
  const View<const bf16, 2> left = a.view(), right = b.view();
  const gpu::DeviceLimits limits = gpu::device_limits({});
  for (const int blocks : {1, 2}) {
    Tensor<float, 2> c(Index<2>{130, 330});
    const View<float, 2> sink = c.view();
    const gpu::WarpgroupMatmulShape<1> shape{130, 250, {330}, 0, gpu::emitted_lanes(sink)};
    using Operand = View<const bf16, 2>;
    gpu::LineLaunch<bf16, false, true, 128, Operand, Operand, View<float, 2>> thin{left,  right,  sink,
                                                                                   shape, limits, {}};
    REQUIRE(thin.fits());
    thin({18, blocks, 1, 0});
    CHECK(device.take() == (blocks == 1 ? "line_matmul x18" : "line_matmul x36"));
    expect_product(sink, left, right);
  }
  check<bf16>(130, 330, 250, 16, 0, 0, "line_matmul x18", "line_matmul x18");
}

TEST_CASE("products of lines: two jointly; other sinks are left to copies") {
  SmallTiles device(16);
  const auto a = random_tensor<f16>(Index<2>{40, 107}, 1), gate = random_tensor<f16>(Index<2>{107, 71}, 2);
  const auto up = random_tensor<f16>(Index<2>{107, 71}, 3), other = random_tensor<f16>(Index<2>{107, 30}, 4);
  Tensor<float, 2> gated(Index<2>{40, 71}), y(Index<2>{40, 30});
  const auto expect_gated = [&] {
    for_each_position(gated.shape, [&](Index<2> at) {
      const double value = expected(a.view(), gate.view(), at) * expected(a.view(), up.view(), at);
      REQUIRE(std::abs(element(View<const float, 2>(gated.view()), at) - value) <= 1e-3 * (1 + std::abs(value)));
    });
  };
  matmul(a.view(), several(gate.view(), up.view()), several(joint<2>(Gated{gated.view()})));
  CHECK(device.take() == "line_matmul x2");
  expect_gated();
  gated = Tensor<float, 2>(gated.shape);
  matmul(a.view(), several(gate.view(), up.view(), other.view()), several(joint<2>(Gated{gated.view()}), y.view()));
  CHECK(taken(device).starts_with("copied, "));
  expect_gated();
}

#endif
