// Products of bytes, with zero points and without, packed before and not, beside sums of 64 bits by the plain formula.
#include "kgen/integer_matmul.hpp"

#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T, int R>
Tensor<T, R> random_bytes(Index<R> shape, std::uint32_t seed) {
  Tensor<T, R> tensor(shape);
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  for (T& element : tensor.elements) element = static_cast<T>(distribution(generator));
  return tensor;
}

template <class B, class... Zero>
Tensor<std::int8_t, 3> packed(const B& b, const Zero&... b_zero) {
  const Index<2> shape = b.shape();
  Tensor<std::int8_t, 3> panels(Index<3>{(shape[1] + 15) / 16, (shape[0] + 3) / 4 + 2, 64});
  pack_bytes(b, b_zero..., panels.view());
  return panels;
}

template <class T>
const T& constant(T& tensor) {
  return tensor;
}

// A zero point for each row or column; for `is_one`, the first for all.
std::int64_t zero_at(const auto& zeros, std::int64_t i, bool is_one) { return zeros.elements[is_one ? 0 : i]; }

template <class A, class B>
void check(const View<const A, 2>& a, const View<const B, 2>& b, bool one_zero, Stream stream = {}) {
  const std::int64_t M = a.extent(0), K = a.extent(1), N = b.extent(1), padding = (N + 15) / 16 * 16 - N;
  INFO("M ", M, " N ", N, " K ", K);
  const auto a_zero = random_bytes<A>(Index<2>{one_zero ? 1 : std::max<std::int64_t>(M, 1), 1}, 5);
  const auto b_zero = random_bytes<B>(Index<1>{one_zero ? 1 : std::max<std::int64_t>(N, 1)}, 6);
  const View<const A, 2> a_zeros = constant(a_zero).view().template slice<0>(0, one_zero ? 1 : M);
  const View<const B, 1> b_zeros = constant(b_zero).view().template slice<0>(0, one_zero ? 1 : N);
  const auto require = [&](bool left, bool right, const Tensor<std::int32_t, 2>& found) {
    INFO("zero points: left ", left, " right ", right);
    for_each_position(Index<2>{M, N}, [&](Index<2> at) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < K; ++k) {
        const auto x = static_cast<std::int64_t>(element(a, Index<2>{at[0], k}));
        const auto y = static_cast<std::int64_t>(element(b, Index<2>{k, at[1]}));
        sum += (x - (left ? zero_at(a_zero, at[0], one_zero) : 0)) * (y - (right ? zero_at(b_zero, at[1], one_zero) : 0));
      }
      REQUIRE(found.elements[static_cast<std::size_t>(at[0] * N + at[1])] == static_cast<std::int32_t>(sum));
    });
  };
  const auto panels = packed(b), zero_panels = packed(b, b_zeros);
  Tensor<std::int32_t, 2> found(Index<2>{M, N});
  const auto again = [&] { return (found = Tensor<std::int32_t, 2>(Index<2>{M, N})).view(); };
  integer_matmul(a, b, again(), stream);
  require(false, false, found);
  integer_matmul(a, b, a_zeros, again(), stream);
  require(true, false, found);
  integer_matmul(a, b, a_zeros, b_zeros, again(), stream);
  require(true, true, found);
  integer_matmul(a, b, b_zeros, again(), stream);
  require(false, true, found);
  packed_integer_matmul(a, panels.view(), padding, again(), stream);
  require(false, false, found);
  packed_integer_matmul(a, panels.view(), a_zeros, padding, again(), stream);
  require(true, false, found);
  packed_integer_matmul(a, zero_panels.view(), padding, again(), stream);
  require(false, true, found);
  packed_integer_matmul(a, zero_panels.view(), a_zeros, padding, again(), stream);
  require(true, true, found);
}

constexpr std::int64_t sizes[][3] = {{0, 5, 3},     {5, 0, 3},   {4, 6, 0},     {1, 1, 1},    {1, 7, 5},     {1, 300, 1037},
                                     {2, 33, 2},    {3, 60, 9},  {4, 48, 300},  {5, 17, 257}, {8, 33, 100},  {9, 32, 256},
                                     {12, 32, 16},  {13, 31, 7}, {25, 40, 300}, {37, 53, 71}, {97, 101, 64}, {50, 130, 2600}};

// x / 2, rounded, as bytes: a prologue.
struct Halved {
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return convert<std::uint8_t>(x.load<W>(at) * Vec<float, W>(0.5f));
  }
};
struct Scaled {  // an epilogue
  View<const float, 1> scale;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<std::int32_t, W> c) const {
    y.store(at, convert<float>(c) * scale.load<W>(Index<1>{at[1]}));
  }
};

}  // namespace

TEST_CASE("bytes: odd sizes, every pair of dtypes, zero points on either side, packed and not") {
  for (const auto& [M, N, K] : sizes) {
    const auto i = random_bytes<std::int8_t>(Index<2>{M, K}, 1), j = random_bytes<std::int8_t>(Index<2>{K, N}, 2);
    const auto u = random_bytes<std::uint8_t>(Index<2>{M, K}, 3), v = random_bytes<std::uint8_t>(Index<2>{K, N}, 4);
    check(constant(i).view(), constant(j).view(), false);
    check(constant(i).view(), constant(v).view(), true);
    check(constant(u).view(), constant(j).view(), true);
    check(constant(u).view(), constant(v).view(), false);
  }
}

TEST_CASE("bytes: the greatest products do not saturate") {
  for (const int a_value : {0, 255}) {
    for (const int b_value : {-128, -65, -64, 64, 65, 127}) {  // narrow up to 64 (cpu/quads.hpp)
      Tensor<std::uint8_t, 2> a(Index<2>{13, 515});
      Tensor<std::int8_t, 2> b(Index<2>{515, 37});
      std::fill(a.elements.begin(), a.elements.end(), static_cast<std::uint8_t>(a_value));
      std::fill(b.elements.begin(), b.elements.end(), static_cast<std::int8_t>(b_value));
      check(constant(a).view(), constant(b).view(), true);
    }
  }
}

TEST_CASE("bytes: transposed, strided, flipped and broadcast operands; threads") {
  const auto x = random_bytes<std::uint8_t>(Index<2>{90, 80}, 1);
  const auto y = random_bytes<std::int8_t>(Index<2>{80, 90}, 2), z = random_bytes<std::int8_t>(Index<2>{90, 80}, 3);
  const View<const std::uint8_t, 2> turned = x.view().permute<1, 0>();
  const View<const std::int8_t, 2> columns = z.view().permute<1, 0>();
  check(x.view(), y.view(), false, Stream{2});
  check(x.view(), columns, false, Stream{3});
  check(turned, z.view(), true);
  check(x.view().slice<1>(3, 37, 2), y.view().slice<0>(1, 37).slice<1>(0, 44, 2), true);
  check(x.view().flip<0>(), y.view().flip<1>().flip<0>(), false);
  check(x.view().slice<0>(7, 1).broadcast_to(Index<2>{20, 80}), columns, true);
}

TEST_CASE("bytes: a prologue on the left operand, an epilogue that converts") {
  const auto x = random_tensor<float>(Index<2>{21, 130}, 1, 0, 500);
  const auto b = random_bytes<std::int8_t>(Index<2>{130, 35}, 2);
  const auto scale = random_tensor<float>(Index<1>{35}, 3);
  Tensor<float, 2> found(Index<2>{21, 35});
  const auto panels = packed(constant(b).view());
  packed_integer_matmul(Halved{constant(x).view()}, panels.view(), 13, Scaled{constant(scale).view(), found.view()});
  for_each_position(found.shape, [&](Index<2> at) {
    int sum = 0;
    for (std::int64_t k = 0; k < 130; ++k) {
      const auto byte = static_cast<int>(constant(x).view().data()[at[0] * 130 + k] * 0.5f);
      sum += byte * constant(b).view().data()[k * 35 + at[1]];
    }
    REQUIRE(found.elements[static_cast<std::size_t>(at[0] * 35 + at[1])] == static_cast<float>(sum) * scale.elements[static_cast<std::size_t>(at[1])]);
  });
}
