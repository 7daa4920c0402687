// Matrix products of few rows by tensor cores, as the executor does what they do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// c = a * b by those launches, for each order of the threads and both ways that b may lie. lasting: as weights do.
template <class T>
void check(std::int64_t M, std::int64_t N, std::int64_t K, int multiprocessors, const std::string& launches,
           bool lasting = false) {
  const Matrix<T> a(Index<2>{M, K}, 1), b(Index<2>{K, N}, 2), across(Index<2>{N, K}, 3);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().multiprocessors = multiprocessors;
    for (const auto& right : {b.view(), across.view().template permute<1, 0>()}) {
      Tensor<float, 2> c(Index<2>{M, N});
      matmul(a.view(), lasting ? as_weights(right) : right, c.view());
      CHECK(device.take() == launches);
      for_each_position(c.shape, [&](Index<2> at) {
        const double value = expected(a.view(), right, at);
        INFO(M, " x ", N, " x ", K, " at ", at[0], ", ", at[1]);
        REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-5 * (1 + static_cast<double>(K)));
      });
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("skinny products: rows, columns and depths below and beyond a tile's", T, KGEN_TYPES((bf16), f16)) {
  check<T>(1, 8, 8, 1, "skinny_matmul x1");
  check<T>(8, 64, 64, 1, "skinny_matmul x1");
  check<T>(9, 136, 200, 1, "skinny_matmul x2");
  check<T>(16, 136, 456, 1, "skinny_matmul x2");  // more stages than the ring has
  check<T>(17, 136, 264, 1, "skinny_matmul x2");
  check<T>(40, 72, 584, 1, "skinny_matmul x1");
  check<T>(64, 264, 136, 4, "skinny_matmul x3");
  check<T>(66, 264, 72, 3, "warpgroup_matmul x3");  // as many tiles as multiprocessors
}

TEST_CASE("skinny products: few tiles of many rows, whose depth blocks share") {
  check<bf16>(65, 72, 1480, 2, "skinny_matmul x2");
  check<f16>(130, 72, 2952, 4, "skinny_matmul x4");  // two tiles, of which one has 2 rows
}

TEST_CASE("skinny products: the tiles of the last round, whose depth blocks share in a launch of their own") {
  check<bf16>(386, 128, 2440, 3, "warpgroup_matmul x3, skinny_matmul x3");

  // Tiles of 256 columns, cut in two: there are results in two of the four halves.
  Hopper device;
  const Matrix<bf16> a(Index<2>{130, 264}, 1), b(Index<2>{264, 376}, 2);
  const View<const bf16, 2> left = a.view(), right = b.view();
  Tensor<float, 2> c(Index<2>{130, 376});
  const View<float, 2> sink = c.view();
  const gpu::DeviceLimits limits = gpu::device_limits({});
  gpu::WarpgroupMatmulShape<1> whole{130, 264, {376}, 0, gpu::Lanes::whole_vectors};
  using Matmul = gpu::SkinnyMatmul<bf16, 128, 1, false>;
  gpu::SkinnyProduct<Matmul, bf16, false, View<const bf16, 2>, View<const bf16, 2>, View<float, 2>> rest(
      left, right, sink, whole, limits, {});
  whole.most_tiles = rest.shape.first_tile = 2;
  rest.shape.parts = 2;
  REQUIRE(gpu::launch_by_engine<bf16, 256, false>(left, right, sink, whole, limits, {}));
  REQUIRE(rest({4, 2, 1, 0}));
  CHECK(device.take() == "warpgroup_matmul x2, skinny_matmul x8");
  expect_product(c, a, b, [](Index<2>, double product) { return product; });
}

TEST_CASE("skinny products: the blocks of a cluster share the depth") {
  check<bf16>(3, 72, 520, 4, "skinny_matmul x3");
  check<bf16>(20, 136, 1096, 8, "skinny_matmul x8");
  check<bf16>(5, 8, 2040, 12, "skinny_matmul x8");
  check<bf16>(5, 8, 2040, 2, "skinny_matmul x2");  // no more than find room at once
}

TEST_CASE("skinny products: weights come before what is ahead is done, and blocks that stay go from tile to tile") {
  constexpr bool lasting = true;
  check<bf16>(1, 8, 8, 4, "skinny_matmul x1", lasting);
  check<bf16>(3, 72, 520, 4, "skinny_matmul x2", lasting);
  check<bf16>(16, 648, 456, 4, "skinny_matmul x3", lasting);  // six tiles of more stages than the ring has
  check<bf16>(9, 648, 72, 5, "skinny_matmul x6", lasting);    // which three blocks of five do not keep busy
  check<bf16>(9, 136, 72, 1, "skinny_matmul x2", lasting);    // and one of one leaves no room
  check_several(14, 1032, 3, "skinny_matmul x2", lasting);    // four tiles in two rounds
}

TEST_CASE("skinny products: epilogues whose Views repeat along columns or rows, lie across, or are in place") {
  check_epilogues(10, "skinny_matmul x1");
}

TEST_CASE("skinny products: several, apart and jointly, in one launch") {
  check_several(14, 1032, 16, "skinny_matmul x16");
}

TEST_CASE("skinny products: columns that are no vectors") {
  Hopper device;
  const Matrix<bf16> a(Index<2>{7, 64}, 1), across(Index<2>{77, 64}, 2);
  Tensor<float, 2> c(Index<2>{7, 77});
  const View<const bf16, 2> b = across.view().permute<1, 0>();
  matmul(a.view(), b, c.view());
  CHECK(device.take() == "skinny_matmul x1");
  for_each_position(c.shape,
                    [&](Index<2> at) { REQUIRE(std::abs(element(c.view(), at) - expected(a.view(), b, at)) < 1e-3); });
}

TEST_CASE("skinny products: NaN and infinity reach the results that they belong to, and no others") {
  Hopper device;
  Matrix<bf16> a(Index<2>{6, 64}, 1), b(Index<2>{64, 40}, 2);
  a.memory.elements[3 * 64 + 63] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  b.memory.elements[2 * 40 + 7] = static_cast<bf16>(std::numeric_limits<float>::infinity());
  Tensor<float, 2> c(Index<2>{6, 40});
  matmul(a.view(), b.view(), c.view());
  CHECK(device.take() == "skinny_matmul x1");
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = element(c.view(), at);
    CHECK(std::isnan(value) == (at[0] == 3));
    if (at[0] != 3) CHECK(std::isinf(value) == (at[1] == 7));
  });
}

#endif
