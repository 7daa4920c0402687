// Matrix products whose depth blocks share through memory, as the executor does what tensor cores do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include "kgen/gpu/split_matmul.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

using Operand = View<const bf16, 2>;

template <class Matmul, class T, bool BDeep, class Operand, class C>
void multiply(const Operand& left, const Operand& right, const C& c, int parts) {
  const gpu::DeviceLimits limits = gpu::device_limits({});
  const gpu::detail::AskedProducts<Operand> asked(left, right, c, 0);
  const gpu::SplitProduct<Matmul, T, BDeep, Operand, Operand, C> product(left, right, c, asked.shape, limits, {});
  REQUIRE(product.fits());
  REQUIRE(product({0, parts, 1, 0}));
}

// c = a * b in such tiles, whose depth is in so many parts, for each order of the threads and both ways that b may lie.
template <class T, template <class, bool> class Matmul = gpu::SquareMatmul>
void check(std::int64_t M, std::int64_t N, std::int64_t K, int parts, const std::string& launches) {
  const Matrix<T> a(Index<2>{M, K}, 1), across(Index<2>{K, N}, 2), deep(Index<2>{N, K}, 3);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<float, 2> c(Index<2>{M, N});
    const View<const T, 2> turned = deep.view().template permute<1, 0>();
    multiply<Matmul<T, true>, T, true>(a.view(), turned, c.view(), parts);
    expect_product(c.view(), a.view(), turned);
    CHECK(device.take() == launches);
    if (N % 8 != 0) continue;  // lines that the copy engine does not take
    c = Tensor<float, 2>(Index<2>{M, N});
    multiply<Matmul<T, false>, T, false>(a.view(), across.view(), c.view(), parts);
    expect_product(c.view(), a.view(), across.view());
    CHECK(device.take() == launches);
  }
}

template <class T, bool BDeep>
using Wide = gpu::WideMatmul<T, 128, 128, BDeep>;
template <class T, bool BDeep>
using WideOfFewRows = gpu::WideMatmul<T, 64, 128, BDeep>;

}  // namespace

TEST_CASE_TEMPLATE("a depth in parts: squares", T, bf16, f16) {
  check<T>(1, 8, 136, 2, "split_matmul x2, add_parts x1");
  check<T>(64, 64, 200, 3, "split_matmul x3, add_parts x8");
  check<T>(33, 24, 1288, 17, "split_matmul x17, add_parts x17");  // so many that teams add them
  check<T>(33, 77, 648, 5, "split_matmul x10, add_parts x10");    // columns that are no vectors
  check<T>(9, 76, 136, 2, "split_matmul x4, add_parts x4");       // but of 4
  check<T>(9, 78, 1096, 2, "split_matmul x4, add_parts x4");      // or of 2, and more stages than the ring has
}

TEST_CASE("a depth in parts: wide tiles") {
  check<bf16, WideOfFewRows>(33, 136, 200, 3, "split_matmul x6, add_parts x15");
  check<bf16, Wide>(70, 136, 200, 4, "split_matmul x8, add_parts x27");
  check<f16, Wide>(130, 77, 136, 2, "split_matmul x4, add_parts x34");
}

TEST_CASE("a depth in parts: sinks that read, and one that is in place") {
  const Index<2> shape{70, 200};
  const Matrix<bf16> a(Index<2>{70, 328}, 1), b(Index<2>{328, 200}, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 200}, 3), residual = random_tensor<float>(shape, 4);
  const View<const float, 2> repeated = bias.view().broadcast_to(shape);
  const auto sum = [&](Index<2> at, double product) {
    return product + element(repeated, at) + element(residual.view(), at);
  };
  Hopper device;
  Tensor<float, 2> y(shape);
  using Square = gpu::SquareMatmul<bf16, false>;
  multiply<Square, bf16, false>(a.view(), b.view(), Residual{repeated, residual.view(), y.view()}, 3);
  expect_product(y, a, b, sum);
  y = residual;
  multiply<Square, bf16, false>(a.view(), b.view(), Residual{repeated, y.view(), y.view()}, 3);
  expect_product(y, a, b, sum);
}

TEST_CASE("a depth in parts: chosen where there is memory for it, and more depth than clusters are for") {
  SmallTiles device(132);
  const Matrix<bf16> a(Index<2>{65, 2048}, 1), b(Index<2>{2048, 8}, 2);
  std::vector<float> memory(100000);
  Stream stream;
  stream.owner = memory.data();
  Tensor<float, 2> c(Index<2>{65, 8});
  matmul(a.view(), b.view(), c.view(), stream);
  CHECK(device.take() == "square_matmul x16");
  stream.workspace = [](void* owner, std::int64_t bytes) {
    CHECK(bytes == 8 * 65 * 8 * 4);
    return owner;
  };
  c = Tensor<float, 2>(Index<2>{65, 8});
  matmul(a.view(), b.view(), c.view(), stream);
  CHECK(device.take() == "split_matmul x16, add_parts x9");
  expect_product(c.view(), a.view(), b.view());
}

#endif
