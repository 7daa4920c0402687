// Products of one row by multiply-adds, as the executor does them: lines that begin anywhere, in each way to share
// them.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "kgen/gpu/vector_matmul.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

using Operand2 = View<const bf16, 2>;

// c = a * b by such a launch, in that way.
template <bool BDeep, class T, class C>
std::string launch(const View<const T, 2>& a, const View<const T, 2>& b, const C& c, gpu::VectorWay way) {
  const gpu::DeviceLimits limits = gpu::device_limits({});
  const gpu::detail::AskedProducts<View<const T, 2>> asked(a, b, c, 0);
  gpu::VectorProduct<T, BDeep, View<const T, 2>, View<const T, 2>, C> product(a, b, c, asked.shape, limits, {});
  if (!product.fits() || !product.can(way)) return "none";
  product(way);
  return "launched";
}

// For each order of the threads and both ways that b may lie: `gap` elements between lines, which begin behind `before`
// others, as does a.
template <class T>
void check(std::int64_t N, std::int64_t K, int before, int gap, gpu::VectorWay way) {
  const auto a = random_tensor<T>(Index<2>{1, before + K}, 1);
  const auto across = random_tensor<T>(Index<2>{K, before + N + gap}, 2);
  const auto along = random_tensor<T>(Index<2>{N, before + K + gap}, 3);
  const View<const T, 2> row = a.view(), lines = across.view(), columns = along.view();
  const auto left = row.template slice<1>(before, K), right = lines.template slice<1>(before, N);
  const auto deep = columns.template slice<1>(before, K).template permute<1, 0>();
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<float, 2> c(Index<2>{1, N});
    REQUIRE(launch<false>(left, right, c.view(), way) == "launched");
    expect_product(c.view(), left, right);
    Tensor<float, 2> d(Index<2>{1, N});
    REQUIRE(launch<true>(left, deep, d.view(), way) == "launched");
    expect_product(d.view(), left, deep);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("products of a vector: columns and depths below and beyond a step's, lines from anywhere on", T,
                   bf16, f16) {
  check<T>(16, 16, 0, 0, {2, 1});
  check<T>(17, 19, 0, 0, {1, 1});  // of a thread one block in part
  check<T>(77, 201, 3, 0, {3, 1});
  check<T>(301, 93, 0, 4, {5, 1});
  check<T>(131, 1100, 1, 2, {2, 1});  // more blocks of a thread than are on their way
  check<T>(264, 136, 0, 0, {5, 1});   // lines of whole vectors
  check<T>(70, 2113, 7, 1, {4, 1});   // a left operand of more blocks than there are threads
}

TEST_CASE("products of a vector: the blocks of a cluster share the depth") {
  check<bf16>(65, 300, 0, 0, {3, 2});
  check<f16>(33, 1111, 5, 0, {4, 8});
  check<bf16>(128, 57, 0, 1, {2, 3});
}

TEST_CASE("products of a vector: chosen for one row, of lines that begin anywhere or at whole vectors") {
  SmallTiles device(132);
  const auto check = [&](std::int64_t N, std::int64_t K, const std::string& across, const std::string& along) {
    const auto a = random_tensor<bf16>(Index<2>{1, K}, 1), b = random_tensor<bf16>(Index<2>{K, N}, 2);
    const auto turned = random_tensor<bf16>(Index<2>{N, K}, 3);
    Tensor<float, 2> c(Index<2>{1, N});
    matmul(a.view(), b.view(), c.view());
    CHECK(device.take() == across);
    expect_product(c.view(), a.view(), b.view());
    matmul(a.view(), Operand2(turned.view()).permute<1, 0>(), c.view());
    CHECK(device.take() == along);
    expect_product(c.view(), a.view(), Operand2(turned.view()).permute<1, 0>());
  };
  check(233, 93, "vector_matmul x30", "vector_matmul x15");
  check(64, 2041, "vector_matmul x32", "vector_matmul x64");
  check(64, 2048, "vector_matmul x32", "vector_matmul x64");
}

TEST_CASE("products of a vector: more depth than a block has room for is shared, or multiplied otherwise") {
  SmallTiles device(132);
  const auto check = [&](std::int64_t N, std::int64_t K, const std::string& launches) {
    CAPTURE(K);
    const auto a = random_tensor<bf16>(Index<2>{1, K}, 1), b = random_tensor<bf16>(Index<2>{K, N}, 2);
    Tensor<float, 2> c(Index<2>{1, N});
    matmul(a.view(), b.view(), c.view());
    CHECK(device.take() == launches);
    for_each_position(c.shape, [&](Index<2> at) {
      REQUIRE(std::abs(element(c.view(), at) - expected(a.view(), b.view(), at)) < 1e-2);
    });
  };
  check(17, 60000, "vector_matmul x24");
  check(16, 200000, "square_matmul x8");
}

TEST_CASE("products of a vector: sinks that read, and results of no whole vectors") {
  Hopper device;
  const auto a = random_tensor<bf16>(Index<2>{1, 93}, 1), b = random_tensor<bf16>(Index<2>{93, 78}, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 78}, 3), residual = random_tensor<float>(Index<2>{1, 78}, 4);
  const View<const float, 2> own = bias.view();
  Tensor<float, 2> y(Index<2>{1, 78});
  REQUIRE(launch<false>(Operand2(a.view()), Operand2(b.view()), Residual{own, residual.view(), y.view()}, {3, 2}) ==
          "launched");
  const auto value = [&](Index<2> at) { return element(own, at) + element(residual.view(), at); };
  for_each_position(y.shape, [&](Index<2> at) {
    const double wanted = expected(a.view(), b.view(), at) + value(at);
    REQUIRE(std::abs(element(y.view(), at) - wanted) <= 1e-4 * (1 + std::abs(wanted)));
  });
}

TEST_CASE("products of a vector: NaN and infinity reach the results that they belong to, and no others") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const int group : {2, 3, 5}) {
    Hopper device;
    auto a = random_tensor<bf16>(Index<2>{1, 70}, 1), across = random_tensor<bf16>(Index<2>{70, 41}, 2);
    auto along = random_tensor<bf16>(Index<2>{41, 70}, 3);
    a.elements[69] = static_cast<bf16>(nan);  // beyond what is multiplied
    across.elements[2 * 41 + 7] = along.elements[7 * 70 + 2] = static_cast<bf16>(infinity);
    across.elements[69 * 41 + 9] = along.elements[9 * 70 + 69] = static_cast<bf16>(nan);  // beyond
    const Operand2 left = Operand2(a.view()).slice<1>(0, 69), right = Operand2(across.view()).slice<0>(0, 69);
    const Operand2 deep = Operand2(along.view()).slice<1>(0, 69).permute<1, 0>();
    Tensor<float, 2> c(Index<2>{1, 41}), d(Index<2>{1, 41});
    REQUIRE(launch<false>(left, right, c.view(), {group, 1}) == "launched");
    REQUIRE(launch<true>(left, deep, d.view(), {group, 1}) == "launched");
    for_each_position(c.shape, [&](Index<2> at) {
      CHECK(std::isinf(element(c.view(), at)) == (at[1] == 7));
      CHECK(std::isinf(element(d.view(), at)) == (at[1] == 7));
      CHECK(!std::isnan(element(c.view(), at)));
      CHECK(!std::isnan(element(d.view(), at)));
    });
  }
}

#endif
