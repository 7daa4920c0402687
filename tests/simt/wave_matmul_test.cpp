// Matrix multiplication by the matrix cores that each wave uses alone, as the executor does what they do.
#include "kgen/gpu/wave_matmul.hpp"

#include <limits>

#include "kgen/ops/conversion.hpp"
#include "products.hpp"
#include "shared_batches.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// body.operator()<Op>() for each instruction that waves of this width have.
template <class T, class Body>
void for_each_op(const Body& body) {
#if KGEN_SIMT_WAVE == 32
  body.template operator()<gpu::MmaTile<T>>();
  body.template operator()<gpu::WmmaTile<T>>();
#else
  body.template operator()<gpu::MfmaTile<T>>();
#endif
}

// c = a * b by each instruction and for each order of the threads, in tiles of a kind.
template <class T, class Tile = gpu::WaveMatmulTile, class A, class B>
void check(const A& a, const B& b, const std::string& launches) {
  const Index<2> left = a.shape(), right = b.shape();
  for_each_op<T>([&]<class Op>() {
    for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
      NoHopper device;
      simt::device().shared_bytes = 96 * 1024;
      simt::device().order = order;
      Tensor<float, 2> c(Index<2>{left[0], right[1]});
      REQUIRE(gpu::wave_matmul<T, Op, Tile>(a, b, c.view(), {}));
      CHECK(device.take() == launches);
      for_each_position(c.shape, [&](Index<2> at) {
        double value = 0;
        for (std::int64_t k = 0; k < left[1]; ++k) {
          const auto rounded = [](const auto& lanes) { return static_cast<double>(static_cast<float>(T(lanes.data))); };
          value += rounded(a.template load<1>(Index<2>{at[0], k})) * rounded(b.template load<1>(Index<2>{k, at[1]}));
        }
        INFO("at ", at[0], ", ", at[1]);
        REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-5 * (1 + static_cast<double>(left[1])));
      });
    }
  });
}

// What makes an operand: of elements of another type, and of one number for each row.
template <class E>
struct Scaled {
  View<const E, 2> x;
  View<const float, 2> scale;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(Cast<float>::apply(x.template load<W>(at)), scale.load<W>(at));
  }
};
template <class E>
struct ScaledTensor {
  Tensor<E, 2> x;
  Tensor<float, 2> scale;
  explicit ScaledTensor(Index<2> shape)
      : x(random_tensor<E>(shape, 7)), scale(random_tensor<float>(Index<2>{shape[0], 1}, 8)) {}
  Scaled<E> source() const {
    const View<const E, 2> all = x.view();
    return {all, scale.view().template broadcast_to<2>(all.shape())};
  }
};

// Counts how often each element is asked for.
struct Counted {
  View<const bf16, 2> x;
  std::vector<int>* counts;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    for (int i = 0; i < W; ++i) ++(*counts)[static_cast<std::size_t>(at[0] * x.extent(1) + at[1] + i)];
    return x.load<W>(at);
  }
};

// Two results of one product.
struct Both {
  View<const float, 2> bias;
  View<float, 2> sum;
  View<float, 2> square;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> c) const {
    const auto biased = Add::apply(c, bias.load<W>(at));
    sum.store(at, biased);
    square.store(at, Mul::apply(biased, biased));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("waves: extents beyond and below those of tiles, b along either axis", T, KGEN_TYPES((bf16), f16)) {
  struct Size {
    std::int64_t M, N, K;
  };
  for (const auto& [M, N, K] : {Size{1, 1, 1}, {128, 128, 32}, {130, 72, 104}, {16, 136, 96}}) {
    const Matrix<T> a(Index<2>{M, K}, 1), b(Index<2>{K, N}, 2), turned(Index<2>{N, K}, 3);
    const std::string launches = M > 128 || N > 128 ? "wave_matmul x2" : "wave_matmul x1";
    check<T>(a.view(), b.view(), launches);
    check<T>(a.view(), turned.view().template permute<1, 0>(), launches);
  }
}

#if KGEN_SIMT_WAVE == 32  // which alone have small tiles
TEST_CASE_TEMPLATE("waves: small tiles, whose stages have more of the depth", Tile, gpu::SmallWaveTile<1>,
                   gpu::FewRowsWaveTile<1>, gpu::SmallWaveTile<2>, gpu::FewRowsWaveTile<2>) {
  struct Size {
    std::int64_t M, N, K;
  };
  for (const auto& [M, N, K] : {Size{1, 1, 1}, {64, 128, 64}, {40, 72, 200}, {1, 8, 296}}) {
    const Matrix<bf16> a(Index<2>{M, K}, 1), b(Index<2>{K, N}, 2), turned(Index<2>{N, K}, 3);
    const std::int64_t tiles = ((M + Tile::rows - 1) / Tile::rows) * ((N + Tile::columns - 1) / Tile::columns);
    const std::string launches = "wave_matmul x" + std::to_string(tiles);
    check<bf16, Tile>(a.view(), b.view(), launches);
    check<bf16, Tile>(a.view(), turned.view().template permute<1, 0>(), launches);
    const ScaledTensor<float> scaled(Index<2>{M, K});
    check<bf16, Tile>(scaled.source(), b.view(), launches);
  }
}

TEST_CASE_TEMPLATE("waves: the tiles that take the least time, on devices with warpgroups and without", Device, Hopper,
                   NoHopper) {
  Device device;
  simt::device().small_tiles = true;
  simt::device().shared_bytes = std::max<std::size_t>(simt::device().shared_bytes, 96 * 1024);
  const auto launches = [&](Index<3> sizes) {
    const Matrix<bf16> a(Index<2>{sizes[0], sizes[2]}, 1), b(Index<2>{sizes[2], sizes[1]}, 2);
    Tensor<float, 2> c(Index<2>{sizes[0], sizes[1]});
    matmul(a.view(), b.view(), c.view());
    expect_product(c, a, b, [](Index<2>, double product) { return product; });
    return device.take();
  };
  CHECK(launches({1, 200, 64}) == "wave_matmul x4");   // of few rows
  const bool is_hopper = std::is_same_v<Device, Hopper>;
  CHECK(launches({70, 72, 128}) == (is_hopper ? "square_matmul x4" : "wave_matmul x4"));  // of 64 rows
  CHECK((launches({300, 264, 24}) == "wave_matmul x9") == !is_hopper);  // more large tiles than multiprocessors
}
#endif

TEST_CASE("waves: operands that lie in no whole vectors are laid out first") {
  const auto a = random_tensor<bf16>(Index<2>{67, 61}, 1), b = random_tensor<bf16>(Index<2>{61, 77}, 2);
  const auto across = random_tensor<bf16>(Index<2>{61, 67}, 3), wide = random_tensor<bf16>(Index<2>{61, 80}, 4);
  const View<const bf16, 2> left = a.view(), right = b.view(), lying = across.view(), lines = wide.view();
  check<bf16>(left, right, "lay_out_lines x2, wave_matmul x1");
  check<bf16>(lying.permute<1, 0>(), lines.slice<1>(0, 77), "lay_out x2, wave_matmul x1");
  check<bf16>(left, lying.permute<1, 0>().slice<0>(0, 61), "lay_out_lines x2, wave_matmul x1");
  check<bf16>(left.flip<0>(), lines.slice<1>(1, 33), "lay_out_lines x2, wave_matmul x1");
}

TEST_CASE("waves: no rows, no columns, no depth") {
  NoHopper device;
  const auto a = random_tensor<bf16>(Index<2>{8, 16}, 1), b = random_tensor<bf16>(Index<2>{16, 24}, 2);
  Tensor<float, 2> c(Index<2>{8, 24});
  const View<const bf16, 2> left = a.view(), right = b.view();
  matmul(left.slice<0>(0, 0), right, c.view().slice<0>(0, 0));
  matmul(left, right.slice<1>(0, 0), c.view().slice<1>(0, 0));
  CHECK(device.take() == "");
  std::fill(c.elements.begin(), c.elements.end(), 1.0f);
  matmul(left.slice<1>(0, 0), right.slice<0>(0, 0), c.view());
  CHECK(device.take() == "wave_matmul x1");
  for (const float each : c.elements) REQUIRE(each == 0);
  const ScaledTensor<float> scaled(Index<2>{8, 0});
  std::fill(c.elements.begin(), c.elements.end(), 1.0f);
  matmul(scaled.source(), right.slice<0>(0, 0), c.view());
  CHECK(device.take() == "wave_matmul x1");
  for (const float each : c.elements) REQUIRE(each == 0);
}

TEST_CASE("waves: prologues of either operand") {
  for (const std::int64_t K : {64, 61}) {
    const ScaledTensor<float> a(Index<2>{131, K}), b(Index<2>{K, 75});
    const ScaledTensor<f8e4m3> narrow(Index<2>{K, 75});
    const Matrix<bf16> left(Index<2>{131, K}, 1), right(Index<2>{K, 75}, 2);
    check<bf16>(a.source(), right.view(), "wave_matmul x2");
    check<bf16>(left.view(), b.source(), "wave_matmul x2");
    check<bf16>(left.view(), narrow.source(), "wave_matmul x2");
    check<f16>(a.source(), b.source(), "wave_matmul x2");
    const auto down = random_tensor<std::int8_t>(Index<2>{75, K}, 3);  // weights that lie as [N, K]
    const auto scale = random_tensor<float>(Index<2>{1, 75}, 4);
    const View<const std::int8_t, 2> weights = std::as_const(down).view().permute<1, 0>();
    check<bf16>(left.view(), Scaled<std::int8_t>{weights, scale.view().broadcast_to(weights.shape())},
                "wave_matmul x2");
  }
}

TEST_CASE("waves: a prologue is evaluated as often as matmul's declaration says") {
  NoHopper device;
  const auto a = random_tensor<bf16>(Index<2>{256, 64}, 1), b = random_tensor<bf16>(Index<2>{64, 264}, 2);
  std::vector<int> of_a(a.elements.size()), of_b(b.elements.size());
  Tensor<float, 2> c(Index<2>{256, 264});
  matmul(Counted{a.view(), &of_a}, b.view(), c.view());
  matmul(a.view(), Counted{b.view(), &of_b}, c.view());
  CHECK(device.take() == "wave_matmul x6, wave_matmul x6");
  // Beyond the end of the depth, or of columns, it asks for the last ones again, and drops what it gets.
  for (std::size_t i = 0; i < of_a.size(); ++i) REQUIRE((i % 64 >= 56 || of_a[i] == (264 + 127) / 128));
  for (std::size_t i = 0; i < of_b.size(); ++i) REQUIRE((i % 264 >= 256 || i / 264 == 63 || of_b[i] == 256 / 128));
}

TEST_CASE("waves: which operands, sinks and devices") {
  using View16 = View<const bf16, 2>;
  using Sink = View<bf16, 2>;
  static_assert(std::is_same_v<gpu::wave_element_t<View16, View16>, bf16>);
  static_assert(
      std::is_same_v<gpu::wave_element_t<Scaled<float>, Several<View<const f16, 2>, View<const f16, 2>>>, f16>);
  static_assert(std::is_same_v<gpu::wave_element_t<View16, Several<Scaled<float>, Scaled<float>>>, bf16>);
  static_assert(std::is_same_v<gpu::wave_element_t<View<const f8e4m3, 2>, View<const f8e4m3, 2>>, bf16>);
  static_assert(std::is_same_v<gpu::wave_element_t<View<const float, 2>, Scaled<float>>, void>);
  static_assert(std::is_same_v<gpu::wave_element_t<View16, View<const float, 2>>, void>);
  static_assert(std::is_same_v<gpu::wave_element_t<Scaled<float>, Several<View16, View<const f16, 2>>>, void>);
  static_assert(std::is_same_v<gpu::wave_element_t<Scaled<float>, Scaled<float>>, void>);
  static_assert(std::is_same_v<gpu::wave_element_t<View<const std::int32_t, 2>, View<const std::int32_t, 2>>, void>);
  static_assert(gpu::has_wave_matmul<View16, View16, Sink>);
  static_assert(!gpu::has_wave_matmul<View16, Several<View16, View16, View16>, Joint<3, Gated>>);
  NoHopper device;
  simt::device().shared_bytes = 24 * 1024;
  const Matrix<bf16> a(Index<2>{16, 32}, 1), b(Index<2>{32, 24}, 2);
  Tensor<float, 2> c(Index<2>{16, 24});
  matmul(a.view(), b.view(), c.view());
  CHECK(device.take() == "matmul x1");
  expect_product(c, a, b, [](Index<2>, double product) { return product; });
}

TEST_CASE("waves: epilogues whose Views repeat along columns or rows, lie across, or are in place") {
  check_epilogues<NoHopper>(70, "wave_matmul x1");
  check_epilogues<NoHopper>(200, "wave_matmul x2");
}

TEST_CASE("waves: several products, apart and jointly, in one launch") {
  check_several<NoHopper>(140, 72, 4, "wave_matmul x8");
}

TEST_CASE("waves: an epilogue with several results, of sums of an odd number of columns") {
  for (const std::int64_t N : {72, 71}) {
    NoHopper device;
    const Matrix<bf16> a(Index<2>{140, 40}, 1), b(Index<2>{40, N}, 2);
    const auto bias = random_tensor<float>(Index<2>{1, N}, 3);
    Tensor<float, 2> sum(Index<2>{140, N}), square(sum.shape);
    const View<const float, 2> repeated = bias.view().broadcast_to(sum.shape);
    matmul(a.view(), b.view(), Both{repeated, sum.view(), square.view()});
    CHECK(device.take() == "wave_matmul x2");
    expect_product(sum, a, b, [&](Index<2> at, double product) { return product + element(repeated, at); });
    expect_product(square, a, b, [&](Index<2> at, double product) {
      return (product + element(repeated, at)) * (product + element(repeated, at));
    });
  }
}

TEST_CASE("waves: NaN and infinity reach the results that they belong to, and no others") {
  NoHopper device;
  Matrix<bf16> a(Index<2>{66, 70}, 1), b(Index<2>{70, 40}, 2);
  a.memory.elements[3 * 72 + 69] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  a.memory.elements[5 * 72 + 70] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());  // beyond its columns
  b.memory.elements[2 * 40 + 7] = static_cast<bf16>(std::numeric_limits<float>::infinity());
  Tensor<float, 2> c(Index<2>{66, 40});
  matmul(a.view(), b.view(), c.view());
  CHECK(device.take() == "wave_matmul x1");
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = element(c.view(), at);
    INFO("at ", at[0], ", ", at[1]);
    CHECK(std::isnan(value) == (at[0] == 3));
    if (at[0] != 3) CHECK(std::isinf(value) == (at[1] == 7));
  });
}

TEST_CASE("waves: batches of matrices, of which one is repeated") {
  NoHopper device;
  const auto a = random_tensor<bf16>(Index<3>{3, 130, 40}, 1), b = random_tensor<bf16>(Index<3>{3, 40, 24}, 2);
  const auto turned = random_tensor<bf16>(Index<3>{1, 24, 40}, 3), odd = random_tensor<bf16>(Index<3>{3, 40, 23}, 4);
  const auto expect = [&](const View<const bf16, 3>& left, const View<const bf16, 3>& right,
                          const std::string& launches) {
    Tensor<float, 3> c(Index<3>{3, 130, right.extent(2)});
    batched_matmul(left, right, c.view());
    CHECK(device.take() == launches);
    for_each_position(c.shape, [&](Index<3> at) {
      const View<const bf16, 2> matrix = right.select<0>(right.extent(0) == 1 ? 0 : at[0]);
      const double value = expected(left.select<0>(at[0]), matrix, Index<2>{at[1], at[2]});
      REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-3);
    });
  };
  const View<const bf16, 3> left = a.view(), lines = turned.view();
  expect(left, b.view(), "wave_batched_matmul x6");
  expect(left, lines.permute<0, 2, 1>(), "wave_batched_matmul x6");
  expect(left, odd.view(), "batched_matmul x9");  // in no whole vectors
}

TEST_CASE("waves: groups of rows, whose ends only the device knows, and rows in none") {
  NoHopper device;
  simt::device().shared_bytes = 64 * 1024;
  const auto a = random_tensor<bf16>(Index<2>{200, 40}, 1);
  const auto b = random_tensor<bf16>(Index<3>{3, 40, 24}, 2), up = random_tensor<bf16>(Index<3>{3, 40, 24}, 3);
  const auto turned = random_tensor<bf16>(Index<3>{3, 24, 40}, 4);
  const std::int64_t ends[] = {5, 140, 190};
  const View<const std::int64_t, 1> of_groups(ends, Index<1>{3});
  const View<const bf16, 2> left = a.view();
  const View<const bf16, 3> lines = turned.view();
  const auto value = [&](const View<const bf16, 3>& matrices, Index<2> at) {
    const int group = at[0] < 5 ? 0 : at[0] < 140 ? 1 : 2;
    return at[0] < 190 ? expected(left, matrices.select<0>(group), at) : 0.0;
  };
  Tensor<float, 2> c(Index<2>{200, 24});
  for (const View<const bf16, 3>& matrices : {View<const bf16, 3>(b.view()), lines.permute<0, 2, 1>()}) {
    grouped_matmul(left, matrices, of_groups, c.view());
    CHECK(device.take() == "wave_grouped_matmul x5");
    for_each_position(c.shape,
                      [&](Index<2> at) { REQUIRE(std::abs(element(c.view(), at) - value(matrices, at)) <= 1e-3); });
  }
  grouped_matmul(left, several(b.view(), up.view()), of_groups, Gated{c.view()});
  CHECK(device.take() == "wave_grouped_matmul x5");
  for_each_position(c.shape, [&](Index<2> at) {
    REQUIRE(std::abs(element(c.view(), at) - value(b.view(), at) * value(up.view(), at)) <= 1e-2);
  });
}

TEST_CASE("waves: more tiles than a grid has blocks are not theirs") {
  NoHopper device;
  const Matrix<bf16> a(Index<2>{140, 72}, 1), b(Index<2>{72, 200}, 2);
  Tensor<float, 2> c(Index<2>{140, 200});
  simt::device().most_blocks = 3;
  matmul(a.view(), b.view(), c.view());
  CHECK(device.take() == "matmul x3");
  expect_product(c, a, b, [](Index<2>, double product) { return product; });
}

#if KGEN_SIMT_WAVE == 32
TEST_CASE("waves: what many tiles take is what the matrix cores take, as an H200 was measured") {
  NoHopper device;
  simt::device().small_tiles = true;
  const gpu::DeviceLimits limits{132, 227 * 1024, 8};
  // A product of 4096^3, and SwiGLU of 2048 rows, 14336 columns of each product and a depth of 4096.
  CHECK(gpu::wave_time<gpu::WaveMatmulTile>(32 * 32, 4096, limits) == doctest::Approx(416e3).epsilon(0.05));
  CHECK(gpu::wave_time<gpu::SmallWaveTile<2>>(32 * 224, 4096, limits) == doctest::Approx(1502e3).epsilon(0.05));
  // Of one row memory takes longer than the cores: 235 MB, at 4200 bytes a nanosecond.
  const double memory = 2.0 * 14336 * 4096 * 2 / 4200;
  CHECK(gpu::wave_time<gpu::FewRowsWaveTile<2>>(224, 4096, limits) == doctest::Approx(45e3).epsilon(0.05));
  CHECK(gpu::wave_time<gpu::FewRowsWaveTile<2>>(224, 4096, limits, memory) == doctest::Approx(64e3).epsilon(0.05));
}
#endif
