// Matrix products in tiles of 64 rows and columns, in wide ones, and of few aligned rows straight from memory, as the
// executor does what tensor cores do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// c = a * b in such tiles, whose depth so many blocks share, for each order of the threads and both ways that b may
// lie.
template <class T, template <class, bool> class Matmul = gpu::SquareMatmul>
void check(std::int64_t M, std::int64_t N, std::int64_t K, int blocks, int grid) {
  const Matrix<T> a(Index<2>{M, K}, 1), across(Index<2>{K, N}, 2), deep(Index<2>{N, K}, 3);
  using Operand = View<const T, 2>;
  const Operand left = a.view();
  const auto multiply = [&]<bool BDeep>(const Operand& right) {
    Tensor<float, 2> c(Index<2>{M, N});
    const View<float, 2> sink = c.view();
    const gpu::DeviceLimits limits = gpu::device_limits({});
    const gpu::detail::AskedProducts<Operand> asked(left, right, sink, 0);
    using Launch = gpu::SkinnyProduct<Matmul<T, BDeep>, T, BDeep, Operand, Operand, View<float, 2>>;
    Launch product(left, right, sink, asked.shape, limits, {});
    REQUIRE(product.fits());
    REQUIRE(product({product.best().tiles, blocks, 1, 0}));
    expect_product(c.view(), left, right);
  };
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    const std::string launch = Matmul<T, true>::name + (" x" + std::to_string(grid));
    multiply.template operator()<true>(deep.view().template permute<1, 0>());
    CHECK(device.take() == launch);
    if (N % 8 != 0) continue;  // lines that the copy engine does not take
    multiply.template operator()<false>(across.view());
    CHECK(device.take() == launch);
  }
}

template <class T, bool BDeep>
using FewRows = gpu::WideMatmul<T, 64, 128, BDeep>;
template <class T, bool BDeep>
using FewColumns = gpu::WideMatmul<T, 192, 128, BDeep>;
template <class T, bool BDeep>
using WideSquare = gpu::WideMatmul<T, 192, 192, BDeep>;

}  // namespace

TEST_CASE_TEMPLATE("squares: rows, columns and depths below and beyond a tile's", T, bf16, f16) {
  check<T>(1, 8, 8, 1, 1);
  check<T>(64, 64, 64, 1, 1);
  check<T>(65, 72, 200, 1, 4);
  check<T>(33, 136, 648, 1, 3);  // more stages than the ring has
  check<T>(130, 77, 72, 1, 6);   // columns that are no vectors
  check<T>(71, 76, 72, 1, 4);    // but of 4
  check<T>(71, 78, 72, 1, 4);    // or of 2
}

TEST_CASE_TEMPLATE("squares: the blocks of a cluster share the depth", T, bf16, f16) {
  check<T>(40, 24, 264, 2, 2);
  check<T>(70, 80, 1096, 4, 16);
  check<T>(9, 130, 1032, 8, 24);
}

TEST_CASE("wide tiles: alone, and by the blocks of a cluster") {
  check<bf16, FewRows>(65, 130, 264, 1, 4);  // columns that are vectors of 2
  check<f16, FewRows>(64, 136, 456, 3, 6);
  check<bf16, FewColumns>(70, 77, 328, 2, 2);  // or none, and a warpgroup without rows
  check<f16, FewColumns>(200, 136, 72, 1, 4);
  check<bf16, WideSquare>(193, 72, 392, 1, 2);  // more stages than the ring has
  check<bf16, WideSquare>(130, 196, 328, 4, 8);
}

TEST_CASE("wide tiles: sinks that read, alone and by the blocks of a cluster") {
  const Index<2> shape{130, 200};
  const Matrix<bf16> a(Index<2>{130, 136}, 1), b(Index<2>{136, 200}, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 200}, 3), residual = random_tensor<float>(shape, 4);
  const View<const float, 2> repeated = bias.view().broadcast_to(shape);
  using Operand = View<const bf16, 2>;
  const Operand left = a.view(), right = b.view();
  for (const int blocks : {1, 2}) {
    Hopper device;
    Tensor<float, 2> y(shape);
    const Residual sink{repeated, residual.view(), y.view()};
    const gpu::DeviceLimits limits = gpu::device_limits({});
    const gpu::detail::AskedProducts<Operand> asked(left, right, sink, 0);
    gpu::SkinnyProduct<WideSquare<bf16, false>, bf16, false, Operand, Operand, Residual> product(
        left, right, sink, asked.shape, limits, {});
    REQUIRE(product({product.best().tiles, blocks, 1, 0}));
    expect_product(y, a, b, [&](Index<2> at, double sum) {
      return sum + element(repeated, at) + element(residual.view(), at);
    });
  }
}

TEST_CASE("squares: chosen where there is depth; alone, shared, and with sinks") {
  {
    SmallTiles device(132);
    const Matrix<bf16> a(Index<2>{65, 1480}, 1), b(Index<2>{1480, 72}, 2);
    Tensor<float, 2> c(Index<2>{65, 72});
    matmul(a.view(), b.view(), c.view());
    CHECK(device.take() == "square_matmul x24");
    expect_product(c.view(), a.view(), b.view());
  }
  SmallTiles device(4);
  const Index<2> shape{70, 72};
  const Matrix<bf16> a(Index<2>{70, 648}, 1), b(Index<2>{648, 72}, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 72}, 3), residual = random_tensor<float>(shape, 4);
  const View<const float, 2> repeated = bias.view().broadcast_to(shape);
  Tensor<float, 2> y(shape);
  matmul(a.view(), b.view(), Residual{repeated, residual.view(), y.view()});
  CHECK(device.take() == "square_matmul x4");
  expect_product(y, a, b, [&](Index<2> at, double product) {
    return product + element(repeated, at) + element(residual.view(), at);
  });
}

// What a program is compiled without is what it does not launch; and it stays right where operands are not as they are
// said to be.
TEST_CASE("known products: operands that lie as they are said to, and others, which are copied") {
  SmallTiles device(132);
  const Index<2> shape{20, 72};
  const Matrix<bf16> a(Index<2>{20, 136}, 1), across(Index<2>{136, 72}, 2), deep(Index<2>{72, 136}, 3);
  const View<const bf16, 2> turned = deep.view().permute<1, 0>();
  const auto multiply = [&]<int Right, int Rows>(const View<const bf16, 2>& right) {
    Tensor<float, 2> c(shape);
    matmul<Right, Rows>(a.view(), right, c.view());
    expect_product(c.view(), a.view(), right);
    return device.take();
  };
  CHECK(multiply.operator()<row_major, any_rows>(across.view()).find("lay_out") == std::string::npos);
  CHECK(multiply.operator()<column_major, any_rows>(turned).find("lay_out") == std::string::npos);
  CHECK(multiply.operator()<row_major, any_rows>(turned).find("lay_out") != std::string::npos);
  CHECK(multiply.operator()<column_major, any_rows>(across.view()).find("lay_out") != std::string::npos);
  CHECK(multiply.operator()<row_major, few_rows>(across.view()) == "matmul x2");  // more rows than there were to be
  const auto few = [&]<int Right>(std::int64_t rows, const View<const bf16, 2>& right) {
    Tensor<float, 2> c(Index<2>{rows, 72});
    const View<const bf16, 2> left = a.view().slice<0>(0, rows);
    matmul<Right, few_rows>(left, right, c.view());
    expect_product(c.view(), left, right);
    return device.take();
  };
  CHECK(few.operator()<row_major>(16, across.view()) != "matmul x2");
  CHECK(few.operator()<column_major>(1, turned) != "matmul x2");
  CHECK(few.operator()<any_layout>(3, turned) != "matmul x2");
}

TEST_CASE("few aligned rows: straight from memory where lines are along much depth") {
  SmallTiles device(132);
  const Matrix<bf16> a(Index<2>{5, 1480}, 1), b(Index<2>{77, 1480}, 2);
  const View<const bf16, 2> right = b.view().permute<1, 0>();
  Tensor<float, 2> c(Index<2>{5, 77});
  matmul(a.view(), right, c.view());
  CHECK(device.take() == "few_rows_matmul x15");
  expect_product(c.view(), a.view(), right);
}

TEST_CASE("few rows that lie anywhere, by right operands that do not") {
  SmallTiles device(132);
  const auto a = random_tensor<bf16>(Index<2>{3, 171}, 1);
  const Matrix<bf16> b(Index<2>{171, 136}, 2);
  Tensor<float, 2> c(Index<2>{3, 136});
  matmul(View<const bf16, 2>(a.view()), b.view(), c.view());
  CHECK(device.take() == "few_rows_matmul x3");
  expect_product(c.view(), a.view(), b.view());
}

TEST_CASE("squares: NaN and infinity reach the results that they belong to, and no others") {
  Hopper device;
  Matrix<bf16> a(Index<2>{70, 64}, 1), b(Index<2>{64, 72}, 2);
  a.memory.elements[66 * 64 + 63] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  b.memory.elements[2 * 72 + 67] = static_cast<bf16>(std::numeric_limits<float>::infinity());
  Tensor<float, 2> c(Index<2>{70, 72});
  using Operand = View<const bf16, 2>;
  const Operand left = a.view(), right = b.view();
  const View<float, 2> sink = c.view();
  const gpu::DeviceLimits limits = gpu::device_limits({});
  const gpu::detail::AskedProducts<Operand> asked(left, right, sink, 0);
  gpu::SkinnyProduct<gpu::SquareMatmul<bf16, false>, bf16, false, Operand, Operand, View<float, 2>> square(
      left, right, sink, asked.shape, limits, {});
  REQUIRE(square(square.best()));
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = element(c.view(), at);
    CHECK(std::isnan(value) == (at[0] == 66));
    if (at[0] != 66) CHECK(std::isinf(value) == (at[1] == 67));
  });
}

#endif
