// Matrix products of floats of 8 and of 32 bits by tensor cores, as the executor does what they do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <bit>
#include <limits>

#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// c = a * b by those launches, for each order of the threads, where a sum over K may be wrong by so much of K.
template <int LeastBits, class T>
void check(const View<const T, 2>& a, const View<const T, 2>& b, const std::string& launches, double error) {
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<float, 2> c(Index<2>{a.extent(0), b.extent(1)});
    matmul<any_layout, any_rows, 96, 256, LeastBits>(a, b, c.view());
    CHECK(taken(device) == launches);
    for_each_position(c.shape, [&](Index<2> at) {
      const double value = expected(a, b, at);
      INFO(a.extent(0), " x ", b.extent(1), " x ", a.extent(1), " at ", at[0], ", ", at[1]);
      REQUIRE(std::abs(element(c.view(), at) - value) <= error * (8 + static_cast<double>(a.extent(1))));
    });
  }
}

// Numbers that tf32 has.
Matrix<float> short_matrix(Index<2> shape, std::uint32_t seed) {
  Matrix<float> matrix(shape, seed);
  for (float& each : matrix.memory.elements)
    each = std::bit_cast<float>(std::bit_cast<std::uint32_t>(each) & 0xffffe000u);
  return matrix;
}

template <class T>
auto turned(const Matrix<T>& matrix) {
  return matrix.view().template permute<1, 0>();
}

}  // namespace

TEST_CASE_TEMPLATE("warpgroups: floats of 8 bits, extents beyond and below those of tiles", T, f8e4m3, f8e5m2) {
  struct Size {
    std::int64_t M, N, K;
    const char* launches;
  };
  for (const auto& [M, N, K, launches] : {Size{1, 8, 16, "skinny_matmul x1"},
                                          {65, 8, 16, "warpgroup_matmul x1"},
                                          {128, 64, 128, "warpgroup_matmul x1"},
                                          {129, 264, 272, "warpgroup_matmul x4"},
                                          {129, 352, 272, "warpgroup_matmul x4"},
                                          {5, 130, 144, "skinny_matmul x2"},
                                          {3, 136, 1168, "skinny_matmul x4"},
                                          {40, 136, 1168, "skinny_matmul x4"},
                                          {120, 72, 2064, "skinny_matmul x4"}}) {
    const Matrix<T> a(Index<2>{M, K}, 1), b(Index<2>{N, K}, 2);
    check<13>(a.view(), turned(b), launches, 1e-3);
  }
}

TEST_CASE("warpgroups: floats of 8 bits in no order that the copy engine takes") {
  const Matrix<f8e4m3> a(Index<2>{131, 160}, 1), b(Index<2>{160, 77}, 2), deep(Index<2>{77, 160}, 3);
  const auto across = random_tensor<f8e4m3>(Index<2>{160, 131}, 4);
  check<13>(a.view(), b.view(), "copied, warpgroup_matmul x2", 1e-3);
  const View<const f8e4m3, 2> turned_a = across.view().permute<1, 0>();
  check<13>(turned_a, turned(deep), "copied, warpgroup_matmul x2", 1e-3);
  for (const std::int64_t begin : {1, 2, 3, 7}) {  // at any byte, and of an odd depth
    check<13>(a.view().slice<1>(begin, 133), turned(deep).slice<0>(begin, 133), "copied, warpgroup_matmul x2", 1e-3);
  }
}

TEST_CASE("warpgroups: larger operands in no order that the copy engine takes are copied to one first") {
  const auto a = random_tensor<bf16>(Index<2>{257, 261}, 1), b = random_tensor<bf16>(Index<2>{261, 259}, 2);
  const auto turned = random_tensor<bf16>(Index<2>{259, 261}, 3), across = random_tensor<bf16>(Index<2>{261, 257}, 4);
  const View<const bf16, 2> left = a.view(), right = b.view(), deep = turned.view().permute<1, 0>();
  const std::string both = "copied, warpgroup_matmul x4";
  check<13>(left, right, both, 1e-5);
  check<13>(left, deep, both, 1e-5);
  const View<const bf16, 2> lying = across.view().permute<1, 0>();
  check<13>(lying, right, both, 1e-5);
  check<13>(left.slice<1>(0, 256), right.slice<0>(0, 256).slice<1>(1, 256), "copied, warpgroup_matmul x3", 1e-5);
  const Matrix<bf16> whole(Index<2>{261, 264}, 5);
  check<13>(left, whole.view(), "copied, warpgroup_matmul x4", 1e-5);
  const Matrix<f8e4m3> small(Index<2>{256, 272}, 6), flat(Index<2>{272, 260}, 7);
  check<13>(small.view(), flat.view(), "copied, warpgroup_matmul x4", 1e-3);
  const Matrix<float> precise = short_matrix({256, 260}, 8), columns = short_matrix({260, 256}, 9);
  check<10>(precise.view(), columns.view(), "copied, warpgroup_matmul x4", 1e-5);
}

TEST_CASE("warpgroups: sums of floats of 8 bits keep more than the tensor cores do") {
  Hopper device;
  Matrix<f8e4m3> a(Index<2>{64, 1024}, 1), b(Index<2>{8, 1024}, 2);
  for (Matrix<f8e4m3>* each : {&a, &b}) {
    for (f8e4m3& element : each->memory.elements) element = f8e4m3(0.125f);
  }
  for (std::int64_t row = 0; row < 64; ++row) a.memory.elements[row * 1024] = f8e4m3(448);
  for (std::int64_t row = 0; row < 8; ++row) b.memory.elements[row * 1024] = f8e4m3(32);
  Tensor<float, 2> c(Index<2>{64, 8});
  matmul(a.view(), turned(b), c.view());
  CHECK(device.take() == "skinny_matmul x4");
  const double exact = 448 * 32 + 1023 / 64.0;  // of which 14 bits are 14336, whatever is added to that
  for_each_position(c.shape, [&](Index<2> at) {
    REQUIRE(element(c.view(), at) > exact - 4.5);  // what the first 256 of the depth lose
    REQUIRE(element(c.view(), at) <= exact);
  });
}

TEST_CASE("warpgroups: products of floats of 8 bits, apart, jointly, and with factors of rows and columns") {
  Hopper device;
  const Matrix<f8e4m3> a(Index<2>{140, 144}, 1), gate(Index<2>{136, 144}, 2), up(Index<2>{136, 144}, 3);
  const Matrix<f8e4m3> other(Index<2>{24, 144}, 4);
  Tensor<float, 2> gated(Index<2>{140, 136}), y(Index<2>{140, 24});
  matmul(a.view(), several(turned(gate), turned(up), turned(other)), several(joint<2>(Gated{gated.view()}), y.view()));
  CHECK(device.take() == "warpgroup_matmul x4");
  for_each_position(gated.shape, [&](Index<2> at) {
    const double left = expected(a.view(), turned(gate), at), right = expected(a.view(), turned(up), at);
    REQUIRE(std::abs(element(gated.view(), at) - left * right) <= 0.1 * (1 + std::abs(left) + std::abs(right)));
  });
  const Index<2> shape{140, 136};
  const auto bias = random_tensor<float>(Index<2>{1, 136}, 5), residual = random_tensor<float>(shape, 6);
  matmul(a.view(), turned(gate), Residual{bias.view().broadcast_to(shape), residual.view(), gated.view()});
  for_each_position(gated.shape, [&](Index<2> at) {
    const double value =
        expected(a.view(), turned(gate), at) + element(bias.view(), Index<2>{0, at[1]}) + element(residual.view(), at);
    REQUIRE(std::abs(element(gated.view(), at) - value) <= 0.1);
  });
}

TEST_CASE("warpgroups: floats of 32 bits where 10 bits of mantissa are enough") {
  struct Size {
    std::int64_t M, N, K;
    const char* launches;
  };
  for (const auto& [M, N, K, launches] : {Size{1, 8, 4, "skinny_matmul x1"},
                                          {65, 8, 8, "warpgroup_matmul x1"},
                                          {128, 64, 32, "warpgroup_matmul x1"},
                                          {129, 264, 68, "warpgroup_matmul x4"},
                                          {17, 136, 520, "skinny_matmul x4"}}) {
    const Matrix<float> a = short_matrix({M, K}, 1), b = short_matrix({N, K}, 2), across = short_matrix({K, N}, 3);
    check<10>(a.view(), turned(b), launches, 1e-5);
    check<10>(a.view(), across.view(), M <= 8 ? "few_rows_matmul x1" : std::string("copied, ") + launches, 1e-5);
  }
  const Matrix<float> a = short_matrix({70, 71}, 1), b = short_matrix({33, 71}, 2);
  check<10>(a.view(), turned(b), "copied, warpgroup_matmul x1", 1e-5);
  check<10>(a.view().slice<1>(1, 64), turned(b).slice<0>(3, 64), "copied, warpgroup_matmul x1", 1e-5);
}

TEST_CASE("warpgroups: formats that do not keep the bits that are asked for, or that they do not have") {
  const Matrix<float> a(Index<2>{70, 32}, 1), b(Index<2>{32, 16}, 2);
  check<13>(a.view(), b.view(), "matmul x2", 1e-6);
  const Matrix<f8e4m3> small(Index<2>{70, 32}, 1), right(Index<2>{16, 32}, 2);
  check<23>(small.view(), turned(right), "wave_matmul x1", 1e-6);
  const Matrix<f8e5m2> other(Index<2>{16, 32}, 2);
  Hopper device;
  Tensor<float, 2> c(Index<2>{70, 16});
  matmul(small.view(), turned(other), c.view());
  CHECK(device.take() == "wave_matmul x1");
  for_each_position(c.shape, [&](Index<2> at) {
    REQUIRE(std::abs(element(c.view(), at) - expected(small.view(), turned(other), at)) < 1e-4);
  });
}

TEST_CASE("warpgroups: NaN of 8 bits reaches its row alone") {
  Hopper device;
  Matrix<f8e4m3> a(Index<2>{66, 80}, 1), b(Index<2>{40, 80}, 2);
  a.memory.elements[3 * 80 + 79] = f8e4m3(std::numeric_limits<float>::quiet_NaN());
  Tensor<float, 2> c(Index<2>{66, 40});
  matmul(a.view(), turned(b), c.view());
  CHECK(device.take() == "warpgroup_matmul x1");
  for_each_position(c.shape, [&](Index<2> at) { CHECK(std::isnan(element(c.view(), at)) == (at[0] == 3)); });
}

#endif
