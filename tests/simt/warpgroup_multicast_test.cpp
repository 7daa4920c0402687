// Blocks of a cluster that bring right operands for each other, as the executor does what the copy engine does.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <functional>
#include <string>

#include "kgen/gpu/tensor_core_matmul.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// c = a * b for each of b in tiles of so many columns, by clusters of two blocks.
template <int Columns, bool Deep, class A, class B, class C>
void multiply_in_pairs(const A& a, const B& b, const C& c) {
  using T = std::remove_const_t<typename A::element_type>;
  const gpu::detail::AskedProducts<B> asked(a, b, c, 0);
  const Stream stream{};
  const bool taken =
      gpu::launch_by_engine<T, Columns, Deep, 2>(a, b, c, asked.shape, gpu::device_limits(stream), stream);
  REQUIRE(taken);
}

template <int Columns, bool Deep>
void check(Index<2> shape, std::int64_t depth, int multiprocessors, const std::string& launch) {
  const Matrix<bf16> a(Index<2>{shape[0], depth}, 1);
  const Matrix<bf16> b(Deep ? Index<2>{shape[1], depth} : Index<2>{depth, shape[1]}, 2);
  View<const bf16, 2> right = b.view();
  if (Deep) right = right.permute<1, 0>();
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().multiprocessors = multiprocessors;
    Tensor<float, 2> c(shape);
    multiply_in_pairs<Columns, Deep>(a.view(), right, c.view());
    CHECK(device.take() == launch);
    for_each_position(shape, [&](Index<2> at) {
      const double value = expected(a.view(), right, at);
      INFO("at ", at[0], ", ", at[1]);
      REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-5 * (1 + static_cast<double>(depth)));
    });
  }
}

}  // namespace

TEST_CASE("multicast: pairs of tiles, the lower of which may have few rows or none") {
  check<256, false>(Index<2>{200, 264}, 136, 4, "warpgroup_matmul x4");
  check<256, true>(Index<2>{129, 40}, 328, 5, "warpgroup_matmul x2");
  check<192, false>(Index<2>{70, 200}, 72, 2, "warpgroup_matmul x2");
  check<192, true>(Index<2>{300, 200}, 64, 2, "warpgroup_matmul x2");
  check<128, false>(Index<2>{260, 136}, 64, 132, "warpgroup_matmul x8");
  check<128, true>(Index<2>{257, 8}, 8, 3, "warpgroup_matmul x2");
}

TEST_CASE("multicast: sinks of several operands, and of two products together") {
  Hopper device;
  simt::device().multiprocessors = 4;
  const Index<2> shape{270, 72};
  const Matrix<bf16> a(Index<2>{270, 40}, 1), b(Index<2>{40, 72}, 2), up(Index<2>{40, 72}, 3);
  const auto bias = random_tensor<float>(Index<2>{1, 72}, 4), residual = random_tensor<float>(shape, 5);
  const View<const float, 2> repeated = bias.view().broadcast_to(shape);
  Tensor<float, 2> y(shape), gated(shape);
  multiply_in_pairs<192, false>(a.view(), b.view(), Residual{repeated, residual.view(), y.view()});
  expect_product(y, a, b, [&](Index<2> at, double product) {
    return product + element(repeated, at) + element(residual.view(), at);
  });
  multiply_in_pairs<128, false>(a.view(), several(b.view(), up.view()), several(joint<2>(Gated{gated.view()})));
  expect_product(gated, a, b, [&](Index<2> at, double product) { return product * expected(a.view(), up.view(), at); });
}

TEST_CASE("multicast: chosen for right operands whose lines begin between multiples of 128 bytes") {
  const Matrix<bf16> aligned(Index<2>{8, 384}, 1), straddling(Index<2>{8, 392}, 2);
  const View<const bf16, 2> lines = aligned.view();
  const bool at_multiples = reinterpret_cast<std::uintptr_t>(lines.data()) % 128 == 0;
  CHECK(gpu::has_straddling_lines(lines, false) == !at_multiples);
  if (at_multiples) CHECK(gpu::has_straddling_lines(lines.slice<1>(8, 64), false));
  CHECK(gpu::has_straddling_lines(straddling.view(), false));
  CHECK(gpu::has_straddling_lines(straddling.view().permute<1, 0>(), true));

  const gpu::DeviceLimits device{132, 227 * 1024, 8};
  gpu::WarpgroupMatmulShape<1> shape{3000, 3000, {3000}, 0, gpu::Lanes::any};
  shape.straddles = true;
  const auto blocks = [](const gpu::WarpgroupMatmulShape<1>& asked, const gpu::DeviceLimits& limits) {
    return gpu::best_tiles_of<bf16, 1>(asked, limits).blocks;
  };
  CHECK(blocks(shape, device) == 2);
  CHECK(gpu::best_tiles_of<bf16, 1>(shape, device).columns == 192);
  CHECK(gpu::best_tiles_of<f8e4m3, 1>(shape, device).blocks == 1);
  CHECK(blocks(shape, {132, 227 * 1024, 1}) == 1);  // no clusters
  CHECK(blocks(shape, {1, 227 * 1024, 8}) == 1);
  auto other = shape;
  other.columns_asked = 256;
  CHECK(blocks(other, device) == 2);
  CHECK(gpu::best_tiles_of<bf16, 1>(other, device).columns == 256);
  other = shape;
  other.straddles = false;
  CHECK(blocks(other, device) == 1);
  other = shape;
  other.batches = 2;  // whose rows lie elsewhere
  CHECK(blocks(other, device) == 1);
  other = shape;
  other.M = 120;  // the lower tile of each pair would have no rows
  CHECK(blocks(other, device) == 1);
}

#endif
