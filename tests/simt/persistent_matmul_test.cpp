// Matrix products of few rows by blocks that stay, as the executor does what tensor cores and copies do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "kgen/gpu/persistent_matmul.hpp"
#include "streamed_products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

template <class T, int Degree, class B>
bool multiply(const auto& a, const B& b, const auto& c) {
  return gpu::persistent_matmul<T, Degree>(a, b, c, *gpu::streamed_shape(a, b, c), gpu::device_limits({}), {});
}

// On so many multiprocessors, all of which have a block.
template <class T, class Exact, int Degree>
void check(std::int64_t M, const auto& b, int multiprocessors) {
  check_product<Exact, T>(M, b, "persistent_matmul x" + std::to_string(multiprocessors),
                          [&](const auto& a, const auto& right, const auto& c) {
                            simt::device().multiprocessors = multiprocessors;
                            CHECK(multiply<T, Degree>(a, right, c));
                          });
}

}  // namespace

TEST_CASE_TEMPLATE("persistent products by codes: rows, columns, groups and depths, and tiles that begin anywhere", T,
                   KGEN_TYPES((bf16), f16)) {
  check<T, double, 1>(1, Weights<i4>(2048, 40, 128, 1).grouped(), 2);
  check<T, double, 1>(8, Weights<i4>(2432, 81, 128, 1).grouped(), 2);  // 19 steps for 16 waves, 3 tiles for a block
  check<T, double, 1>(3, Weights<Codes>(4096, 1, 512, 1).grouped(), 1);
  check<T, double, 2>(5, Weights<i4>(2304, 35, 128, 1).offset(), 3);
  check<T, double, 2>(2, Weights<Codes>(2048, 17, 2048, 1).offset(), 1);
}

TEST_CASE_TEMPLATE("persistent products by elements: weights of 8 bits, a scale for each column or for groups", T,
                   KGEN_TYPES((bf16), f16)) {
  check<T, T, 0>(1, Weights<f8e4m3>(1024, 33, 1024, 1).scaled(), 1);
  check<T, T, 0>(7, Weights<f8e4m3>(1600, 40, 64, 1).grouped(), 2);
}

TEST_CASE("persistent products: what does not lie so is refused") {
  Hopper device;
  const Matrix<bf16> few(Index<2>{2, 2048}, 1), many(Index<2>{9, 2048}, 1), shallow(Index<2>{2, 1920}, 1);
  const Matrix<bf16> uneven(Index<2>{2, 2112}, 1), deep(Index<2>{8, 16384}, 1), long_groups(Index<2>{2, 2304}, 1);
  Tensor<float, 2> c(Index<2>{2, 8}), more(Index<2>{9, 8}), eight(Index<2>{8, 8});
  const Weights<i4> b(2048, 8, 128, 1), short_groups(2048, 8, 64, 1);
  CHECK_FALSE(multiply<bf16, 1>(many.view(), b.grouped(), more.view()));
  CHECK_FALSE(multiply<bf16, 1>(few.view(), short_groups.grouped(), c.view()));  // in which no step lies
  CHECK_FALSE(multiply<bf16, 1>(shallow.view(), Weights<i4>(1920, 8, 128, 1).grouped(), c.view()));  // fewer than waves
  CHECK_FALSE(multiply<bf16, 1>(uneven.view(), Weights<i4>(2112, 8, 2112, 1).grouped(), c.view()));  // no whole steps
  CHECK_FALSE(multiply<bf16, 1>(long_groups.view(), Weights<i4>(2304, 8, 768, 1).grouped(), c.view()));  // 3 steps each
  CHECK_FALSE(multiply<bf16, 1>(deep.view(), Weights<i4>(16384, 8, 128, 1).grouped(), eight.view()));    // no room
  const auto different = several(b.grouped(), b.scaled());
  CHECK_FALSE(multiply<bf16, 1>(few.view(), different, several(c.view(), c.view())));
  CHECK(multiply<bf16, 1>(few.view(), b.grouped(), c.view()));
}

TEST_CASE("persistent products: several, apart and jointly, in one launch") {
  for (const int multiprocessors : {1, 3, 100}) {
    Hopper device;
    simt::device().multiprocessors = multiprocessors;
    const Matrix<bf16> a(Index<2>{3, 2048}, 1);
    const Weights<i4> gate(2048, 44, 128, 2), up(2048, 44, 128, 3), other(2048, 24, 128, 4);
    Tensor<float, 2> gated(Index<2>{3, 44}), y(Index<2>{3, 24});
    const auto b = several(gate.grouped(), up.grouped(), other.grouped());
    CHECK(multiply<bf16, 1>(a.view(), b, several(joint<2>(Gated{gated.view()}), y.view())));
    CHECK(device.take() == "persistent_matmul x" + std::to_string(std::min(multiprocessors, 8)));
    for_each_position(gated.shape, [&](Index<2> at) {
      const double value =
          expected_of<double>(a.view(), gate.grouped(), at) * expected_of<double>(a.view(), up.grouped(), at);
      REQUIRE(std::abs(element(gated.view(), at) - value) <= 5e-3 * (1 + std::abs(value)));
    });
    for_each_position(y.shape, [&](Index<2> at) {
      REQUIRE(std::abs(element(y.view(), at) - expected_of<double>(a.view(), other.grouped(), at)) <= 1e-2);
    });
  }
}

TEST_CASE("persistent products: a residual in place, and a bias") {
  Hopper device;
  simt::device().multiprocessors = 2;
  const Index<2> shape{5, 40};
  const Matrix<bf16> a(Index<2>{5, 2048}, 1);
  const Weights<i4> b(2048, 40, 128, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 40}, 3), residual = random_tensor<float>(shape, 4);
  Tensor<float, 2> y = residual;
  CHECK(multiply<bf16, 1>(a.view(), b.grouped(), Residual{bias.view().broadcast_to(shape), y.view(), y.view()}));
  for_each_position(shape, [&](Index<2> at) {
    const double value = expected_of<double>(a.view(), b.grouped(), at) + element(bias.view(), Index<2>{0, at[1]}) +
                         element(residual.view(), at);
    REQUIRE(std::abs(element(y.view(), at) - value) <= 1e-2);
  });
}

TEST_CASE("persistent products: NaN and infinity reach the results that they belong to, and no others") {
  Hopper device;
  Matrix<bf16> a(Index<2>{3, 2048}, 1);
  Weights<i4> b(2048, 20, 128, 2);
  a.memory.elements[2 * 2048 + 2047] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  b.scale.elements[7 * 16 + 4] = static_cast<bf16>(std::numeric_limits<float>::infinity());
  Tensor<float, 2> c(Index<2>{3, 20});
  CHECK(multiply<bf16, 1>(a.view(), b.grouped(), c.view()));
  for_each_position(c.shape,
                    [&](Index<2> at) { CHECK(std::isfinite(element(c.view(), at)) == (at[0] != 2 && at[1] != 7)); });
}

#endif
