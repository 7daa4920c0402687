// Several right operands in one multiplication, against a reference in double: results apart, joint, and some of each.
#include "kgen/several.hpp"

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Product {
  double sum = 0, magnitude = 0;
};
template <class T, class U>
Product product(const View<T, 2>& a, const View<U, 2>& b, Index<2> at) {
  Product result;
  for (std::int64_t k = 0; k < a.extent(1); ++k) {
    const double each = element(a, Index<2>{at[0], k}) * element(b, Index<2>{k, at[1]});
    result.sum += each;
    result.magnitude += std::abs(each);
  }
  return result;
}

template <class T, class U, class V>
void check_product(View<T, 2> a, View<U, 2> b, View<V, 2> c, double tolerance) {
  for_each_position(c.shape(), [&](Index<2> at) {
    const Product expected = product(a, b, at);
    INFO("M ", c.extent(0), " N ", c.extent(1), " K ", a.extent(1), " at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(c, at) - expected.sum) <= tolerance * (expected.magnitude + 1e-30));
  });
}

// What a joint epilogue stores: gate * up, which needs both at one position.
template <class T>
struct Gated {
  View<T, 2> y;
  template <int W, class Lane>
  KGEN_FN void operator()(Index<2> at, Vec<Lane, W> gate, Vec<Lane, W> up) const {
    y.store(at, Mul::apply(gate, up));
  }
};

template <class T, class U, class V>
void check_gated(View<T, 2> a, View<U, 2> gate, View<U, 2> up, View<V, 2> y, double tolerance) {
  for_each_position(y.shape(), [&](Index<2> at) {
    const Product left = product(a, gate, at), right = product(a, up, at);
    INFO("M ", y.extent(0), " N ", y.extent(1), " K ", a.extent(1), " at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(y, at) - left.sum * right.sum) <= tolerance * (left.magnitude * right.magnitude + 1e-30));
  });
}

// The alternating sum of all products.
template <class T>
struct Combined {
  View<T, 2> y;
  template <int W, class Lane, class... Others>
  KGEN_FN void operator()(Index<2> at, Vec<Lane, W> first, Others... others) const {
    auto sum = first;
    int sign = 1;
    ((sum = (sign = -sign) < 0 ? Sub::apply(sum, others) : Add::apply(sum, others)), ...);
    y.store(at, sum);
  }
};

struct Doubled {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Add::apply(x.load<W>(at), x.load<W>(at));
  }
};

struct Size {
  std::int64_t M, N, K;
};
constexpr Size sizes[] = {{0, 5, 3},   {5, 0, 3},   {4, 6, 0},    {20, 6, 0},   {1, 1, 1},    {1, 7, 5},   {1, 300, 37},
                          {3, 601, 9}, {8, 33, 64}, {9, 32, 256}, {37, 53, 71}, {97, 101, 3}, {101, 130, 260}};

}  // namespace

TEST_CASE_TEMPLATE("several: results apart, of different widths", T, KGEN_TYPES((bf16), float, double)) {
  const double tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<T>(Index<2>{M, K}, 1), q = random_tensor<T>(Index<2>{K, N}, 2);
    const auto k = random_tensor<T>(Index<2>{K, N / 2 + 1}, 3), v = random_tensor<T>(Index<2>{K, 2 * N + 3}, 4);
    Tensor<compute_t<T>, 2> first(Index<2>{M, N}), second(Index<2>{M, N / 2 + 1}), third(Index<2>{M, 2 * N + 3});
    matmul(a.view(), several(q.view(), k.view(), v.view()), several(first.view(), second.view(), third.view()));
    check_product(a.view(), q.view(), first.view(), tolerance);
    check_product(a.view(), k.view(), second.view(), tolerance);
    check_product(a.view(), v.view(), third.view(), tolerance);
  }
}

TEST_CASE_TEMPLATE("several: a joint sink of two", T, KGEN_TYPES((bf16), float, double)) {
  const double tolerance = std::is_same_v<T, double> ? 1e-13 : 1e-5;
  for (const auto& [M, N, K] : sizes) {
    for (const int threads : {1, 3}) {
      const auto a = random_tensor<T>(Index<2>{M, K}, 1), gate = random_tensor<T>(Index<2>{K, N}, 2);
      const auto up = random_tensor<T>(Index<2>{K, N}, 3);
      Tensor<compute_t<T>, 2> y(Index<2>{M, N});
      matmul(a.view(), several(gate.view(), up.view()), Gated<compute_t<T>>{y.view()}, Stream{threads});
      check_gated(a.view(), gate.view(), up.view(), y.view(), tolerance);
    }
  }
}

TEST_CASE_TEMPLATE("several: a joint sink of three and of four", T, KGEN_TYPES((float), double)) {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<T>(Index<2>{M, K}, 1);
    std::vector<Tensor<T, 2>> b;
    for (std::uint32_t i = 0; i < 4; ++i) b.push_back(random_tensor<T>(Index<2>{K, N}, 2 + i));
    const auto& right = b;
    Tensor<T, 2> three(Index<2>{M, N}), four(Index<2>{M, N});
    matmul(a.view(), several(right[0].view(), right[1].view(), right[2].view()), Combined<T>{three.view()});
    matmul(a.view(), several(right[0].view(), right[1].view(), right[2].view(), right[3].view()),
           Combined<T>{four.view()});
    for_each_position(three.shape, [&](Index<2> at) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const Product each = product(a.view(), right[i].view(), at);
        sum += i % 2 == 0 ? each.sum : -each.sum;
        magnitude += each.magnitude;
        const double made = i == 2 ? element(three.view(), at) : i == 3 ? element(four.view(), at) : sum;
        REQUIRE(std::abs(made - sum) <= (std::is_same_v<T, double> ? 1e-14 : 2e-6) * (magnitude + 1e-30));
      }
    });
  }
}

TEST_CASE("several: some results joint, others apart") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1), q = random_tensor<float>(Index<2>{K, 2 * N + 1}, 2);
    const auto gate = random_tensor<float>(Index<2>{K, N}, 3), up = random_tensor<float>(Index<2>{K, N}, 4);
    Tensor<float, 2> first(Index<2>{M, 2 * N + 1}), last(Index<2>{M, 2 * N + 1}), y(Index<2>{M, N}), z(Index<2>{M, N});
    matmul(a.view(), several(q.view(), gate.view(), up.view()),
           several(first.view(), joint<2>(Gated<float>{y.view()})));
    matmul(a.view(), several(gate.view(), up.view(), q.view()), several(joint<2>(Gated<float>{z.view()}), last.view()));
    check_product(a.view(), q.view(), first.view(), 2e-6);
    check_product(a.view(), q.view(), last.view(), 2e-6);
    check_gated(a.view(), gate.view(), up.view(), y.view(), 1e-5);
    check_gated(a.view(), gate.view(), up.view(), z.view(), 1e-5);
  }
}

TEST_CASE("several: transposed right operands, prologues, and a sink for each in place of a joint one") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{K, M}, 1), one = random_tensor<float>(Index<2>{N, K}, 2);
    const auto other = random_tensor<float>(Index<2>{K, N}, 3);
    const View<const float, 2> left = a.view().permute<1, 0>(), turned = one.view().permute<1, 0>();
    Tensor<float, 2> y(Index<2>{M, N}), first(Index<2>{M, N}), second(Index<2>{M, N}), double_y(Index<2>{M, N});
    matmul(left, several(turned, other.view()), Gated<float>{y.view()});
    check_gated(left, turned, other.view(), y.view(), 1e-5);
    matmul(left, several(turned, other.view()), each(first.view(), second.view()));
    check_product(left, turned, first.view(), 2e-6);
    check_product(left, other.view(), second.view(), 2e-6);
    matmul(Doubled{left}, several(turned, Doubled{other.view()}), Gated<float>{double_y.view()});
    for_each_position(y.shape, [&](Index<2> at) {
      const double expected = 8 * product(left, turned, at).sum * product(left, other.view(), at).sum;
      const double scale = 8 * product(left, turned, at).magnitude * product(left, other.view(), at).magnitude;
      REQUIRE(std::abs(element(double_y.view(), at) - expected) <= 1e-5 * (scale + 1e-30));
    });
  }
}

#if !defined(KGEN_SIMT)  // which has no pieces: they are of the CPU's caches
TEST_CASE("several: more columns than one packed piece holds") {
  const std::int64_t K = 20000, N = 150;
  const auto a = random_tensor<bf16>(Index<2>{30, K}, 1, -1, 1), gate = random_tensor<bf16>(Index<2>{K, N}, 2, -1, 1);
  const auto up = random_tensor<bf16>(Index<2>{K, N}, 3, -1, 1);
  Tensor<float, 2> y(Index<2>{30, N});
  matmul<any_layout, any_rows, 48, 128>(a.view(), several(gate.view(), up.view()), Gated<float>{y.view()}, Stream{2});
  for (const std::int64_t i : {0, 7, 29}) {
    for (const std::int64_t j : {0, 63, 64, 127, 128, 149}) {
      const Index<2> at{i, j};
      const double expected = product(a.view(), gate.view(), at).sum * product(a.view(), up.view(), at).sum;
      CHECK(std::abs(element(y.view(), at) - expected) < 0.01 * (std::abs(expected) + 10));
    }
  }
}
#endif

TEST_CASE("several: what the constraints take") {
  using Matrix = View<const float, 2>;
  using Result = View<float, 2>;
  static_assert(SeveralSources<Matrix, 2, 1> && SeveralSources<Several<Matrix, Doubled>, 2, 2>);
  static_assert(!SeveralSources<Several<Matrix, Matrix>, 2, 1> && !SeveralSources<Several<Matrix, View<float, 1>>, 2, 4>);
  static_assert(!SeveralSources<Several<Matrix, View<const double, 2>>, 2, 4>);  // lanes of two types
  static_assert(SeveralMemory<Several<Matrix, Matrix>, 2, 2> && !SeveralMemory<Several<Matrix, Doubled>, 2, 2>);
  static_assert(SeveralSinks<Result, float, 1, 2> && SeveralSinks<Several<Result, Result>, float, 2, 2>);
  static_assert(!SeveralSinks<Result, float, 2, 2> && !SeveralSinks<Several<Result, Result>, float, 3, 2>);
  static_assert(SeveralSinks<Gated<float>, float, 2, 2>);
  static_assert(SeveralSinks<Several<Result, Joint<2, Gated<float>>>, float, 3, 2>);
  static_assert(several_count<Matrix> == 1 && several_count<Several<Matrix, Matrix>> == 2);
}
