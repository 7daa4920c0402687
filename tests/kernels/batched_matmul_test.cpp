// Products of batches of matrices against a reference in double: odd sizes, leading axes that broadcast, every float type,
// strides, prologues and an epilogue.
#include "kgen/batched_matmul.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"
#if defined(KGEN_SIMT)
#include "shared_batches.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

// An operand's position for one of the result, whose last two axes are given.
template <int Own, int R>
Index<Own> position_in(const Index<Own>& extents, const Index<R>& at, std::int64_t row, std::int64_t column) {
  Index<Own> result{};
  for (int axis = 0; axis < Own - 2; ++axis) result[axis] = extents[axis] == 1 ? 0 : at[R - Own + axis];
  result[Own - 2] = row;
  result[Own - 1] = column;
  return result;
}

template <int A, int B>
Index<std::max(A, B)> product_shape(const Index<A>& a, const Index<B>& b) {
  constexpr int R = std::max(A, B);
  Index<R> shape{};
  for (int axis = 0; axis < R - 2; ++axis) {
    const int in_a = axis - (R - A), in_b = axis - (R - B);
    const std::int64_t from_a = in_a < 0 ? 1 : a[in_a], from_b = in_b < 0 ? 1 : b[in_b];
    shape[axis] = from_a == 1 ? from_b : from_a;
  }
  shape[R - 2] = a[A - 2];
  shape[R - 1] = b[B - 1];
  return shape;
}

// The exact element, and the sum of the magnitudes of its terms.
struct Exact {
  double value = 0, magnitude = 0;
};
template <class T, int A, int B, int R>
Exact exact(const View<const T, A>& a, const View<const T, B>& b, const Index<R>& at) {
  Exact sum;
  for (std::int64_t k = 0; k < a.extent(A - 1); ++k) {
    const double term = element(a, position_in(a.shape(), at, at[R - 2], k)) *
                        element(b, position_in(b.shape(), at, k, at[R - 1]));
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

template <class T, class U, int A, int B, int R>
void check_product(View<const T, A> a, View<const T, B> b, View<const U, R> c, double tolerance) {
  for_each_position(c.shape(), [&](Index<R> at) {
    const Exact expected = exact(a, b, at);
    INFO("M ", at[R - 2], " of ", c.extent(R - 2), ", N ", at[R - 1], " of ", c.extent(R - 1), ", K ", a.extent(A - 1));
    REQUIRE(std::abs(element(c, at) - expected.value) <= tolerance * (expected.magnitude + 1e-30));
  });
}

template <class T, int A, int B>
void check(View<const T, A> a, View<const T, B> b, double tolerance, Stream stream = {}) {
  Tensor<compute_t<T>, std::max(A, B)> c(product_shape(a.shape(), b.shape()));
  batched_matmul(a, b, c.view(), stream);
  const auto& made = c;
  check_product<T, compute_t<T>>(a, b, made.view(), tolerance);
}

template <class T, int A, int B>
void check_shapes(Index<A> a_shape, Index<B> b_shape, double tolerance, Stream stream = {}) {
  const auto a = random_tensor<T>(a_shape, 1);
  const auto b = random_tensor<T>(b_shape, 2);
  check<T, A, B>(a.view(), b.view(), tolerance, stream);
}

struct Size {
  std::int64_t M, N, K;
};
constexpr Size sizes[] = {{0, 5, 3}, {5, 0, 3},   {4, 6, 0},    {20, 6, 0},   {1, 1, 1},   {1, 70, 65},
                          {2, 3, 1}, {8, 33, 20}, {12, 32, 16}, {13, 31, 17}, {37, 53, 71}, {65, 67, 9}};

template <int R>
struct Doubled {  // a prologue
  View<const float, R> x;
  KGEN_FN Index<R> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<R> at) const {
    return Add::apply(x.template load<W>(at), x.template load<W>(at));
  }
};

struct BiasRelu {  // an epilogue
  View<const bf16, 4> bias;
  View<bf16, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> c) const {
    y.store(at, Relu::apply(Add::apply(c, bias.load<W>(at))));
  }
};

struct Count {  // counts how often each element of the result is given
  View<std::int32_t, 3> visits;
  template <int W>
  KGEN_FN void operator()(Index<3> at, Vec<float, W>) const {
    visits.store(at, Add::apply(visits.load<W>(at), 1));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("batches: odd sizes and every float type", T, KGEN_TYPES((float, bf16), double, f16, f8e4m3, f8e5m2)) {
  const double tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;
  for (const auto& [M, N, K] : sizes) check_shapes<T>(Index<3>{3, M, K}, Index<3>{3, K, N}, tolerance);
}

TEST_CASE("batches: leading axes that broadcast, that are missing, and that are empty") {
  for (const auto& [M, N, K] : {Size{5, 7, 6}, Size{13, 31, 17}, Size{1, 20, 33}, Size{3, 4, 0}}) {
    check_shapes<float>(Index<4>{2, 3, M, K}, Index<4>{2, 3, K, N}, 2e-6);
    check_shapes<float>(Index<4>{2, 1, M, K}, Index<4>{1, 3, K, N}, 2e-6);
    check_shapes<float>(Index<4>{2, 1, M, K}, Index<3>{3, K, N}, 2e-6);
    check_shapes<float>(Index<3>{3, M, K}, Index<4>{2, 3, K, N}, 2e-6);
    check_shapes<float>(Index<2>{M, K}, Index<3>{3, K, N}, 2e-6);
    check_shapes<float>(Index<2>{M, K}, Index<5>{2, 1, 3, K, N}, 2e-6);
    check_shapes<float>(Index<5>{2, 1, 3, M, K}, Index<5>{1, 2, 1, K, N}, 2e-6);
    check_shapes<float>(Index<3>{3, M, K}, Index<2>{K, N}, 2e-6);
    check_shapes<float>(Index<2>{M, K}, Index<2>{K, N}, 2e-6);
    check_shapes<float>(Index<3>{0, M, K}, Index<3>{0, K, N}, 2e-6);
    check_shapes<float>(Index<4>{2, 1, M, K}, Index<4>{2, 0, K, N}, 2e-6);
  }
}

TEST_CASE("batches: threads share products, and each of a few products") {
  for (const std::int64_t products : {1, 2, 3, 20}) {
    for (const int threads : {1, 3}) {
      check_shapes<float>(Index<3>{products, 150, 40}, Index<3>{products, 40, 33}, 2e-6, Stream{threads});
      check_shapes<float>(Index<3>{products, 4, 90}, Index<3>{products, 90, 70}, 2e-6, Stream{threads});
    }
  }
  check_shapes<float>(Index<3>{900, 2, 30}, Index<3>{900, 30, 5}, 2e-6, Stream{3});
}

TEST_CASE("batches: transposed, strided, flipped and repeated operands; transposed results") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<3>{3, K, M}, 1), b = random_tensor<float>(Index<3>{3, N, K}, 2);
    const View<const float, 3> a_t = a.view().permute<0, 2, 1>(), b_t = b.view().permute<0, 2, 1>();
    check<float>(a_t, b_t, 2e-6);
    Tensor<float, 3> c(Index<3>{3, N, M});
    batched_matmul(a_t, b_t, c.view().permute<0, 2, 1>());
    check_product<float, float>(a_t, b_t, View<const float, 3>(c.view().permute<0, 2, 1>()), 2e-6);
  }
  // Heads that lie between positions and elements: [B, S, H, D] as [B, H, S, D].
  const auto q = random_tensor<bf16>(Index<4>{2, 21, 3, 24}, 3), k = random_tensor<bf16>(Index<4>{2, 19, 3, 24}, 4);
  check<bf16>(View<const bf16, 4>(q.view()).permute<0, 2, 1, 3>(), View<const bf16, 4>(k.view()).permute<0, 2, 3, 1>(),
              2e-6);
  const auto a = random_tensor<float>(Index<3>{4, 20, 60}, 5), b = random_tensor<float>(Index<3>{4, 40, 50}, 6);
  check<float>(a.view().slice<2>(5, 20, 2).flip<0>(), b.view().slice<1>(1, 20), 2e-6);
  check<float>(a.view().slice<0>(1, 1).slice<2>(0, 40).broadcast_to(Index<3>{4, 20, 40}), b.view().flip<2>(), 2e-6);
  check<float>(a.view().slice<0>(0, 2, 3).slice<2>(3, 40), b.view().slice<0>(0, 2, 3).slice<2>(1, 49), 2e-6);
}

TEST_CASE("batches: prologues on both operands, an epilogue that converts") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<4>{2, 1, M, K}, 1);
    const auto b = random_tensor<float>(Index<3>{3, K, N}, 2);
    const auto bias = random_tensor<bf16>(Index<3>{3, 1, N}, 3);
    Tensor<bf16, 4> y(Index<4>{2, 3, M, N});
    batched_matmul(Doubled<4>{a.view()}, Doubled<3>{b.view()}, BiasRelu{bias.view().broadcast_to(y.shape), y.view()});
    for_each_position(y.shape, [&](Index<4> at) {
      const Exact sum = exact<float>(a.view(), b.view(), at);
      const double added = element(bias.view(), Index<3>{at[1], 0, at[3]});
      const double expected = std::max(4 * sum.value + added, 0.0);
      const double magnitude = 4 * sum.magnitude + std::abs(added);
      REQUIRE(std::abs(element(y.view(), at) - expected) <= 0.004 * expected + 2e-6 * magnitude);
    });
  }
}

TEST_CASE("batches: each element of the result is given once") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<3>{1, M, K}, 1), b = random_tensor<float>(Index<3>{5, K, N}, 2);
    Tensor<std::int32_t, 3> visits(Index<3>{5, M, N});
    std::fill(visits.elements.begin(), visits.elements.end(), 0);
    batched_matmul(a.view(), b.view(), Count{visits.view()});
    for (std::int32_t count : visits.elements) REQUIRE(count == 1);
  }
}

TEST_CASE("batches: NaN and infinity stay in their product") {
  auto a = random_tensor<float>(Index<3>{3, 11, 20}, 1);
  const auto b = random_tensor<float>(Index<3>{3, 20, 10}, 2, 0.5f, 1);
  a.elements[220 + 7] = not_a_number;
  a.elements[240 + 7] = infinity;
  Tensor<float, 3> c(Index<3>{3, 11, 10});
  const auto& read = a;
  batched_matmul(read.view(), b.view(), c.view());
  for_each_position(c.shape, [&](Index<3> at) {
    const double value = element(c.view(), at);
    CHECK(std::isnan(value) == (at[0] == 1 && at[1] == 0));
    CHECK((value == infinity) == (at[0] == 1 && at[1] == 1));
  });
}
