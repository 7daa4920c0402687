// Matrix products of floats of 8 bits with scales of blocks of both operands, as the executor does what tensor cores
// do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "kgen/block_scaled_matmul.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// Operands of a product of [M, K] and [K, N], whose columns share scales `width` at a time. Scales are between 1/4
// and 4.
struct Scaled {
  Matrix<f8e4m3> a, b;  // b: [N, K]
  Tensor<float, 2> a_scale, b_scale;
  std::int64_t width;

  Scaled(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t width)
      : a(Index<2>{M, K}, 1),
        b(Index<2>{N, K}, 2),
        a_scale(random_tensor<float>(Index<2>{M, (K + 127) / 128}, 3)),
        b_scale(random_tensor<float>(Index<2>{(K + 127) / 128, (N + width - 1) / width}, 4)),
        width(width) {
    for (Tensor<float, 2>* each : {&a_scale, &b_scale}) {
      for (float& scale : each->elements) scale = std::exp2(scale);
    }
  }
  View<const f8e4m3, 2> right() const { return b.view().template permute<1, 0>(); }
  // What a product is, and the sum of what it adds up without signs.
  std::pair<double, double> expected(Index<2> at) const {
    double sum = 0, most = 0;
    for (std::int64_t k = 0; k < a.shape[1]; ++k) {
      const double left = element(a.view(), Index<2>{at[0], k}) * element(a_scale.view(), Index<2>{at[0], k / 128});
      const double right =
          element(b.view(), Index<2>{at[1], k}) * element(b_scale.view(), Index<2>{k / 128, at[1] / width});
      sum += left * right;
      most += std::abs(left * right);
    }
    return {sum, most};
  }
};

// With an epilogue, in each order of the threads, where a sum may be wrong by so much of what it adds up.
void check(const Scaled& given, const View<const f8e4m3, 2>& right, const std::string& launches, double error) {
  const Index<2> shape{given.a.shape[0], given.b.shape[0]};
  const auto bias = random_tensor<float>(Index<2>{1, shape[1]}, 5), residual = random_tensor<float>(shape, 6);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().multiprocessors = 3;
    Tensor<float, 2> c(shape);
    block_scaled_matmul(given.a.view(), right, given.a_scale.view(), given.b_scale.view(), given.width,
                        Residual{bias.view().broadcast_to(shape), residual.view(), c.view()});
    CHECK(taken(device).starts_with(launches));
    for_each_position(shape, [&](Index<2> at) {
      const auto [sum, most] = given.expected(at);
      const double value = sum + element(bias.view(), Index<2>{0, at[1]}) + element(residual.view(), at);
      INFO(shape[0], " x ", shape[1], " x ", given.a.shape[1], " at ", at[0], ", ", at[1]);
      REQUIRE(std::abs(element(c.view(), at) - value) <= error * most + 1e-5);
    });
  }
}

constexpr double short_sums = 1.0 / 4096;

}  // namespace

TEST_CASE("block scales: blocks of 128 columns, extents beyond and below those of tiles") {
  struct Size {
    std::int64_t M, N, K;
    const char* launches;
  };
  for (const auto& [M, N, K, launches] : {Size{1, 128, 128, "block_scaled_matmul x"},
                                          {64, 256, 384, "block_scaled_matmul x"},
                                          {129, 576, 256, "block_scaled_matmul x"},
                                          {65, 7, 144, "block_scaled_matmul x"},
                                          {130, 200, 640, "block_scaled_matmul x"}}) {
    const Scaled given(M, N, K, 128);
    check(given, given.right(), launches, short_sums);
  }
}

TEST_CASE("block scales: one for each column, for a few, and for all") {
  for (const std::int64_t width : {1, 3, 64, 256, 1000}) {
    const Scaled given(70, 300, 272, width);
    check(given, given.right(), "block_scaled_matmul x", short_sums);
  }
}

TEST_CASE("block scales: more of them than stages, in vectors and not, and than a warp has lanes") {
  for (const auto& [K, width] : {std::pair{1024, 128}, {1152, 128}, {1024, 3}, {4224, 128}}) {
    const Scaled given(3, 40, K, width);
    check(given, given.right(), "block_scaled_matmul x", short_sums);
  }
}

// By tiles of so many columns, of which several blocks share the depth.
template <int Columns>
void check_shared(const Scaled& given, int parts) {
  using namespace kgen::gpu;
  using Left = View<const f8e4m3, 2>;
  const Index<2> extents{given.a.shape[0], given.b.shape[0]};
  const auto bias = random_tensor<float>(Index<2>{1, extents[1]}, 5), residual = random_tensor<float>(extents, 6);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<float, 2> c(extents);
    const Residual sink{bias.view().broadcast_to(extents), residual.view(), c.view()};
    const View<const float, 2> of_rows = given.a_scale.view(), of_groups = given.b_scale.view().permute<1, 0>();
    const BlockScales scales{of_rows, of_groups, Divider(given.width)};
    const Left left = given.a.view(), right = given.right();
    const gpu::detail::AskedProducts<Left> asked(left, right, sink, 0);
    SplitBlockScaledProduct<Columns, Left, Left, Residual> product{left, right, scales, sink, asked.shape, Stream{}};
    REQUIRE(product(parts));
    CHECK(taken(device).starts_with("split_block_scaled_matmul x"));
    for_each_position(extents, [&](Index<2> at) {
      const auto [sum, most] = given.expected(at);
      const double value = sum + element(bias.view(), Index<2>{0, at[1]}) + element(residual.view(), at);
      INFO(parts, " parts of ", Columns, " columns, at ", at[0], ", ", at[1]);
      REQUIRE(std::abs(element(c.view(), at) - value) <= short_sums * most + 1e-5);
    });
  }
}

TEST_CASE("block scales: blocks that share the depth of a tile, in parts alike and not, each of pairs of scales") {
  for (const int parts : {2, 3, 5}) {
    check_shared<64>(Scaled(5, 72, 1200, 128), parts);
    check_shared<128>(Scaled(70, 260, 1536, 128), parts);
  }
  check_shared<64>(Scaled(130, 30, 4480, 256), 2);  // more blocks than a warp has lanes
}

TEST_CASE("block scales: operands in no order that the copy engine takes") {
  const Scaled odd(66, 140, 261, 128);
  const auto across = random_tensor<f8e4m3>(Index<2>{261, 140}, 7);
  Scaled turned = odd;
  for_each_position(across.shape, [&](Index<2> at) {
    turned.b.memory.view().store(Index<2>{at[1], at[0]}, across.view().load<1>(at));
  });
  check(odd, odd.right(), "copied, block_scaled_matmul x", short_sums);
  check(turned, across.view(), "copied, block_scaled_matmul x", short_sums);
}

TEST_CASE("block scales: scales in any order, and sums that grow") {
  Hopper device;
  Scaled given(5, 260, 512, 128);
  const auto rows = random_tensor<float>(Index<2>{4, 5}, 8);
  Tensor<float, 2> c(Index<2>{5, 260});
  block_scaled_matmul(given.a.view(), given.right(), rows.view().permute<1, 0>(), given.b_scale.view(), 128, c.view());
  for_each_position(given.a_scale.shape, [&](Index<2> at) {
    given.a_scale.view().store(at, rows.view().load<1>(Index<2>{at[1], at[0]}));
  });
  for_each_position(c.shape, [&](Index<2> at) {
    const auto [sum, most] = given.expected(at);
    REQUIRE(std::abs(element(c.view(), at) - sum) <= short_sums * most);
  });
}

TEST_CASE("block scales: NaN and infinity of a scale reach what they are of alone") {
  Hopper device;
  Scaled given(70, 260, 256, 128);
  given.a_scale.elements[3 * 2 + 1] = std::numeric_limits<float>::quiet_NaN();
  given.b_scale.elements[2] = std::numeric_limits<float>::infinity();  // of columns from 256 on
  Tensor<float, 2> c(Index<2>{70, 260});
  block_scaled_matmul(given.a.view(), given.right(), given.a_scale.view(), given.b_scale.view(), 128, c.view());
  for_each_position(c.shape,
                    [&](Index<2> at) { CHECK(std::isfinite(element(c.view(), at)) == (at[0] != 3 && at[1] < 256)); });
}

TEST_CASE("block scales: devices without warpgroups, and products of nothing") {
  {
    NoHopper device;
    const Scaled given(17, 40, 200, 32);
    Tensor<float, 2> c(Index<2>{17, 40});
    block_scaled_matmul(given.a.view(), given.right(), given.a_scale.view(), given.b_scale.view(), 32, c.view());
    for_each_position(c.shape, [&](Index<2> at) {
      const auto [sum, most] = given.expected(at);
      REQUIRE(std::abs(element(c.view(), at) - sum) <= 1e-6 * most);
    });
  }
  Hopper device;
  const Scaled none(4, 8, 0, 128), no_rows(0, 8, 128, 128), no_columns(4, 0, 128, 128);
  for (const Scaled* given : {&none, &no_rows, &no_columns}) {
    Tensor<float, 2> c(Index<2>{given->a.shape[0], given->b.shape[0]});
    block_scaled_matmul(given->a.view(), given->right(), given->a_scale.view(), given->b_scale.view(), 128, c.view());
    for_each_position(c.shape, [&](Index<2> at) { CHECK(element(c.view(), at) == 0); });
  }
}

#endif
