// Matrix products of few rows by what a prologue makes of its operands, as the executor does what tensor cores do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "streamed_products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// Degree: of b in its codes.
template <class T, class Exact = T, int Degree = 0>
void check(std::int64_t M, const auto& b, const std::string& launches) {
  check_product<Exact, T>(M, b, launches, [](const auto& a, const auto& right, const auto& c) {
    matmul<any_layout, any_rows, 96, 256, 13, Degree>(a, right, c);
  });
}

template <class T, int Degree, class B>
bool multiply_in_stages(const auto& a, const B& b, const auto& c) {
  const gpu::DeviceLimits limits = gpu::device_limits({});
  const auto shape = gpu::staged_shape<B>(c, *gpu::streamed_shape(a, b, c), limits);
  return gpu::staged_matmul<T, Degree>(a, b, c, shape, limits, {});
}

// In stages, however small it is.
template <class T, class Exact = T, int Degree = 0>
void check_staged(std::int64_t M, const auto& b, int blocks) {
  check_product<Exact, T>(
      M, b, "staged_matmul x" + std::to_string(blocks),
      [](const auto& a, const auto& right, const auto& c) { CHECK(multiply_in_stages<T, Degree>(a, right, c)); });
}

template <class T, int Degree, class B>
bool multiply_arranged(const auto& a, const B& b, const auto& c) {
  const gpu::DeviceLimits limits = gpu::device_limits({});
  const auto shape = gpu::staged_shape<B>(c, *gpu::streamed_shape(a, b, c), limits);
  return gpu::arranged_matmul<T, Degree>(a, b, c, shape, limits, {});
}

// With its left operand arranged, however small it is.
template <class T, class Exact = T, int Degree = 0>
void check_arranged(std::int64_t M, const auto& b, const std::string& blocks, int multiprocessors = 0) {
  check_product<Exact, T>(M, b, "arrange x" + blocks, [&](const auto& a, const auto& right, const auto& c) {
    if (multiprocessors > 0) simt::device().multiprocessors = multiprocessors;
    CHECK(multiply_arranged<T, Degree>(a, right, c));
  });
}

// Two products jointly, so many rows by 136 columns each, on two multiprocessors: tiles of 256 columns.
template <class T>
void check_gated(std::int64_t M, const std::string& launches, const auto& multiply) {
  Hopper device;
  simt::device().multiprocessors = 2;
  const Matrix<T> a(Index<2>{M, 512}, 1);
  const Weights<i4> gate(512, 136, 128, 2), up(512, 136, 128, 3);
  Tensor<float, 2> gated(Index<2>{M, 136});
  CHECK(multiply(a.view(), several(gate.grouped(), up.grouped()), Gated{gated.view()}));
  CHECK(device.take() == launches);
  for_each_position(gated.shape, [&](Index<2> at) {
    const double value =
        expected_of<double>(a.view(), gate.grouped(), at) * expected_of<double>(a.view(), up.grouped(), at);
    REQUIRE(std::abs(element(gated.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

}  // namespace

TEST_CASE_TEMPLATE("streamed products: groups, rows, columns and depths below and beyond a step's", T,
                   KGEN_TYPES((bf16), f16)) {
  check<T>(1, Weights<i4>(32, 1, 32, 1).grouped(), "streamed_matmul x1");
  check<T>(8, Weights<i4>(128, 16, 128, 1).grouped(), "streamed_matmul x1");
  check<T>(3, Weights<u4>(96, 17, 32, 1).grouped(), "streamed_matmul x2");
  check<T>(9, Weights<i4>(1152, 24, 128, 1).grouped(), "streamed_matmul x2");
  check<T>(16, Weights<i4>(544, 40, 32, 1).grouped(), "streamed_matmul x3");
  check<T>(12, Weights<i4>(640, 20, 64, 1).grouped(), "streamed_matmul x2");
}

TEST_CASE("streamed products: zero points of half a byte each, a scale for each column, weights of 8 bits") {
  check<bf16>(5, Weights<i4>(544, 24, 32, 1).offset(), "streamed_matmul x2");
  check<bf16>(2, Weights<u4>(256, 19, 128, 1).offset(), "streamed_matmul x2");
  check<bf16>(16, Weights<f8e4m3>(160, 24, 160, 1).scaled(), "streamed_matmul x2");
  check<bf16>(13, Weights<f8e4m3>(256, 16, 64, 1).grouped(), "streamed_matmul x1");
  check<f16>(4, Weights<i4>(192, 16, 192, 1).scaled(), "streamed_matmul x1");
}

TEST_CASE("streamed products: what does not lie so is multiplied otherwise") {
  check<bf16>(2, Weights<i4>(48, 8, 4, 1).grouped(), "wave_matmul x1");  // groups of less than a thread has
  check<bf16>(2, Weights<i4>(48, 8, 16, 1).grouped(), "unpack x1, skinny_matmul x1");   // of more than it has unpacking
  check<bf16>(2, Weights<i4>(192, 8, 96, 1).grouped(), "unpack x1, skinny_matmul x1");  // in which no step ends
  const Weights<i4> across(128, 64, 32, 1);
  const auto lines = random_tensor<i4>(Index<2>{64, 64}, 1);
  const auto scales = random_tensor<bf16>(Index<2>{1, 64}, 2);
  check<bf16>(3, Scaled<i4>{lines.view(), scales.view().broadcast_to(Index<2>{64, 64})},
              "wave_matmul x1");  // along columns
}

TEST_CASE_TEMPLATE("streamed products by codes: groups, rows, columns and depths", T, KGEN_TYPES((bf16), f16)) {
  check<T, double, 1>(1, Weights<i4>(128, 1, 128, 1).grouped(), "streamed_matmul x1");
  check<T, double, 1>(3, Weights<Codes>(384, 17, 128, 1).grouped(), "streamed_matmul x2");
  check<T, T, 1>(9, Weights<i4>(1152, 24, 384, 1).grouped(), "unpack x7, skinny_matmul x4");  // groups no step ends in
  check<T, double, 1>(14, Weights<i4>(640, 20, 128, 1).grouped(), "streamed_matmul x2");
  check<T, double, 2>(5, Weights<i4>(768, 24, 256, 1).offset(), "streamed_matmul x2");
  check<T, double, 2>(16, Weights<Codes>(1024, 19, 1024, 1).offset(), "streamed_matmul x2");
  check<T, T, 1>(7, Weights<i4>(160, 33, 160, 1).grouped(),
                 "streamed_matmul x3");  // a last step that is shorter: by elements
  check<T, T, 1>(9, Weights<f8e4m3>(256, 16, 128, 1).grouped(), "streamed_matmul x1");
  check<T, T, 1>(4, Weights<i4>(192, 8, 64, 1).grouped(),
                 "streamed_matmul x1");  // groups shorter than a step: by elements
}

TEST_CASE("streamed products: of some depth by blocks that stay") {
  check<bf16, double, 1>(4, Weights<i4>(3072, 20, 128, 1).grouped(), "persistent_matmul x2");
  check<bf16, double, 1>(5, Weights<i4>(3072, 20, 128, 1).grouped(), "streamed_matmul x2");  // rows for few weights
  check<bf16>(5, Weights<f8e4m3>(2048, 20, 2048, 1).scaled(), "persistent_matmul x2");
}

TEST_CASE_TEMPLATE("staged products: rows, columns, groups and depths below and beyond a stage's", T,
                   KGEN_TYPES((bf16), f16)) {
  check_staged<T>(17, Weights<i4>(384, 8, 64, 1).grouped(), 1);
  check_staged<T>(30, Weights<u4>(128, 130, 128, 1).grouped(), 2);
  check_staged<T, double, 1>(1, Weights<i4>(1152, 24, 128, 1).grouped(), 2);
  check_staged<T, double, 1>(8, Weights<u4>(2176, 1, 128, 1).grouped(), 3);
  check_staged<T, double, 1>(32, Weights<Codes>(640, 260, 128, 1).grouped(), 3);
  check_staged<T, double, 2>(16, Weights<i4>(256, 129, 128, 1).offset(), 2);
  check_staged<T, double, 2>(25, Weights<u4>(512, 20, 128, 1).offset(), 1);
  check_staged<T>(9, Weights<f8e4m3>(256, 16, 256, 1).scaled(), 1);
  check_staged<T>(32, Weights<f8e4m3>(1024, 136, 128, 1).grouped(), 4);
}

TEST_CASE_TEMPLATE("staged products: tiles of 256 columns where they take fewer rounds", T, KGEN_TYPES((bf16), f16)) {
  const auto check_wide = [&]<class Exact, int Degree>(std::int64_t M, const auto& b, int blocks) {
    const auto multiply = [](const auto& a, const auto& right, const auto& c) {
      simt::device().multiprocessors = 1;
      CHECK(multiply_in_stages<T, Degree>(a, right, c));
    };
    check_product<Exact, T>(M, b, "staged_matmul x" + std::to_string(blocks), multiply);
  };
  check_wide.template operator()<double, 1>(1, Weights<i4>(1152, 200, 128, 1).grouped(), 1);
  check_wide.template operator()<double, 1>(8, Weights<Codes>(640, 260, 128, 1).grouped(), 3);  // 2 take longer
  check_wide.template operator()<double, 2>(5, Weights<i4>(256, 256, 128, 1).offset(), 1);
  check_wide.template operator()<T, 0>(3, Weights<f8e4m3>(384, 130, 128, 1).grouped(), 1);
  check_wide.template operator()<T, 0>(9, Weights<f8e4m3>(128, 130, 128, 1).grouped(),
                                       2);  // of more rows there are none
  check_gated<T>(5, "staged_matmul x2",
                 [](const auto& a, const auto& b, const auto& c) { return multiply_in_stages<T, 1>(a, b, c); });
}

TEST_CASE("staged products: what does not lie so is refused") {
  Hopper device;
  const Matrix<bf16> a(Index<2>{2, 192}, 1), whole(Index<2>{2, 128}, 1), many(Index<2>{33, 128}, 1);
  Tensor<float, 2> c(Index<2>{2, 8}), more(Index<2>{33, 8});
  const Weights<i4> shorter(192, 8, 64, 1), b(128, 8, 64, 1);
  CHECK_FALSE(multiply_in_stages<bf16, 0>(a.view(), shorter.grouped(), c.view()));  // not whole steps
  CHECK_FALSE(multiply_in_stages<bf16, 1>(whole.view(), b.grouped(), c.view()));    // groups shorter than a step
  CHECK_FALSE(multiply_in_stages<bf16, 0>(many.view(), b.grouped(), more.view()));
  CHECK(multiply_in_stages<bf16, 0>(whole.view(), b.grouped(), c.view()));
}

TEST_CASE_TEMPLATE("streamed products: more rows in tiles, by elements and by codes", T, KGEN_TYPES((bf16), f16)) {
  check<T>(33, Weights<i4>(384, 8, 64, 1).grouped(), "warpgroup_streamed_matmul x1");
  check<T>(40, Weights<u4>(128, 130, 128, 1).grouped(), "warpgroup_streamed_matmul x2");
  check<T, double, 1>(39, Weights<i4>(1152, 24, 128, 1).grouped(), "warpgroup_streamed_matmul x3");
  check<T, double, 1>(63, Weights<Codes>(640, 260, 128, 1).grouped(), "warpgroup_streamed_matmul x3");
  check<T, double, 2>(51, Weights<i4>(256, 129, 128, 1).offset(), "warpgroup_streamed_matmul x2");
  check<T, double, 2>(64, Weights<Codes>(512, 20, 128, 1).offset(), "warpgroup_streamed_matmul x2");
  check<T>(33, Weights<f8e4m3>(256, 16, 256, 1).scaled(), "warpgroup_streamed_matmul x1");
  check<T>(64, Weights<f8e4m3>(1024, 136, 128, 1).grouped(), "warpgroup_streamed_matmul x4");
}

TEST_CASE_TEMPLATE("arranged products: rows, columns, groups and depths below and beyond a stage's", T,
                   KGEN_TYPES((bf16), f16)) {
  check_arranged<T>(40, Weights<u4>(128, 130, 128, 1).grouped(), "2, arranged_matmul x2");
  check_arranged<T, double, 1>(9, Weights<i4>(256, 20, 128, 1).grouped(), "1, arranged_matmul x1");
  check_arranged<T, double, 1>(32, Weights<i4>(1152, 24, 128, 1).grouped(), "9, arranged_matmul x2");
  check_arranged<T, double, 1>(63, Weights<Codes>(640, 260, 128, 1).grouped(), "10, arranged_matmul x3");
  check_arranged<T, double, 2>(51, Weights<i4>(256, 129, 256, 1).offset(), "4, arranged_matmul x2");
  check_arranged<T, double, 2>(64, Weights<Codes>(512, 20, 128, 1).offset(), "8, arranged_matmul x1");
  check_arranged<T>(33, Weights<f8e4m3>(256, 16, 256, 1).scaled(), "3, arranged_matmul x1");
  check_arranged<T>(64, Weights<f8e4m3>(1024, 136, 128, 1).grouped(), "16, arranged_matmul x4");
}

TEST_CASE_TEMPLATE("arranged products: tiles of 256 columns where they take fewer rounds", T, KGEN_TYPES((bf16), f16)) {
  check_arranged<T, double, 1>(35, Weights<i4>(640, 260, 128, 1).grouped(), "6, arranged_matmul x3", 1);
  check_arranged<T, double, 1>(20, Weights<i4>(384, 200, 128, 1).grouped(), "2, arranged_matmul x1", 1);
  check_arranged<T>(64, Weights<f8e4m3>(384, 130, 128, 1).grouped(), "6, arranged_matmul x1", 1);
}

TEST_CASE("arranged products: two jointly in tiles of 256 columns") {
  check_gated<bf16>(35, "arrange x5, arranged_matmul x2",
                    [](const auto& a, const auto& b, const auto& c) { return multiply_arranged<bf16, 1>(a, b, c); });
}

TEST_CASE("arranged products: taken where many weights pay for another kernel") {
  const auto pays = []<int Degree>(std::int64_t M, std::int64_t N) {
    gpu::WarpgroupMatmulShape<2> shape{};
    shape.M = M;
    shape.K = 1024;
    shape.N[0] = N - 1000;
    shape.N[1] = 1000;
    return gpu::pays_arranging<Degree>(shape);
  };
  constexpr std::int64_t million = 1024;  // columns
  CHECK_FALSE(pays.operator()<1>(16, 100 * million));
  CHECK(pays.operator()<1>(17, 6 * million));
  CHECK_FALSE(pays.operator()<1>(32, 6 * million - 1));
  CHECK_FALSE(pays.operator()<1>(33, 10 * million - 1));
  CHECK(pays.operator()<1>(64, 10 * million));
  CHECK_FALSE(pays.operator()<0>(32, 100 * million));
  CHECK(pays.operator()<0>(33, 10 * million));
  CHECK_FALSE(pays.operator()<2>(32, 100 * million));
  CHECK_FALSE(pays.operator()<2>(33, 2 * million - 1));
  Hopper device;
  const Matrix<bf16> a(Index<2>{33, 1024}, 1);
  const Weights<i4> b(1024, 2048, 1024, 2);
  Tensor<float, 2> c(Index<2>{33, 2048});
  matmul<any_layout, any_rows, 96, 256, 13, 2>(a.view(), b.offset(), c.view());
  CHECK(device.take() == "arrange x9, arranged_matmul x16");
}

TEST_CASE("arranged products: what does not lie so is refused") {
  Hopper device;
  const Matrix<bf16> a(Index<2>{40, 192}, 1), many(Index<2>{65, 128}, 1), whole(Index<2>{40, 128}, 1);
  Tensor<float, 2> c(Index<2>{40, 8}), more(Index<2>{65, 8});
  const Weights<i4> shorter(192, 8, 64, 1), grouped(128, 8, 64, 1), b(128, 8, 128, 1);
  CHECK_FALSE(multiply_arranged<bf16, 0>(a.view(), shorter.grouped(), c.view()));      // not whole steps
  CHECK_FALSE(multiply_arranged<bf16, 0>(whole.view(), grouped.grouped(), c.view()));  // groups shorter than a step
  CHECK_FALSE(multiply_arranged<bf16, 0>(many.view(), b.grouped(), more.view()));
  CHECK(multiply_arranged<bf16, 0>(whole.view(), b.grouped(), c.view()));
}

TEST_CASE("streamed products: of many rows, they are made in memory once") {
  check<bf16>(17, Weights<i4>(192, 8, 64, 1).grouped(), "unpack x1, skinny_matmul x1");
  check<bf16, bf16, 1>(65, Weights<i4>(256, 24, 64, 1).grouped(), "unpack x2, warpgroup_matmul x1");
  check<bf16>(130, Weights<f8e4m3>(96, 40, 96, 1).scaled(), "unpack x1, warpgroup_matmul x2");
}

TEST_CASE("streamed products: several, apart and jointly, in one launch") {
  for (const auto& [rows, launches] :
       {std::pair{6, "streamed_matmul x6"}, {23, "staged_matmul x3"}, {41, "arrange x3, arranged_matmul x3"},
        {45, "warpgroup_streamed_matmul x3"}}) {
    Hopper device;
    const Matrix<bf16> a(Index<2>{rows, 256}, 1);
    const Weights<i4> gate(256, 72, 128, 2), up(256, 72, 128, 3), other(256, 24, 128, 4);
    Tensor<float, 2> gated(Index<2>{rows, 72}), y(Index<2>{rows, 24});
    const auto b = several(gate.grouped(), up.grouped(), other.grouped());
    const auto c = several(joint<2>(Gated{gated.view()}), y.view());
    if (rows == 23) {
      CHECK(multiply_in_stages<bf16, 0>(a.view(), b, c));
    } else if (rows == 41) {
      CHECK(multiply_arranged<bf16, 0>(a.view(), b, c));
    } else {
      matmul(a.view(), b, c);
    }
    CHECK(device.take() == launches);
    for_each_position(gated.shape, [&](Index<2> at) {
      const double value =
          expected_of<bf16>(a.view(), gate.grouped(), at) * expected_of<bf16>(a.view(), up.grouped(), at);
      REQUIRE(std::abs(element(gated.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
    });
    for_each_position(y.shape, [&](Index<2> at) {
      REQUIRE(std::abs(element(y.view(), at) - expected_of<bf16>(a.view(), other.grouped(), at)) <= 1e-2);
    });
  }
}

TEST_CASE("streamed products: NaN and infinity reach the results that they belong to, and no others") {
  Hopper device;
  Matrix<bf16> a(Index<2>{3, 160}, 1);
  Weights<i4> b(160, 20, 32, 2);
  a.memory.elements[2 * 160 + 159] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  b.scale.elements[7 * 5 + 4] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  Tensor<float, 2> c(Index<2>{3, 20});
  matmul(a.view(), b.grouped(), c.view());
  CHECK(device.take() == "streamed_matmul x2");
  for_each_position(c.shape,
                    [&](Index<2> at) { CHECK(std::isnan(element(c.view(), at)) == (at[0] == 2 || at[1] == 7)); });
}

#endif
