// Matrix multiplication against a reference in double: odd sizes, every float type, strides, prologue and epilogue.
#include "kgen/matmul.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"
#if defined(KGEN_SIMT)
#include "shared_products.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T, class U>
void check_product(View<const T, 2> a, View<const T, 2> b, View<const U, 2> c, double tolerance) {
  const std::int64_t K = a.extent(1);
  for_each_position(c.shape(), [&](Index<2> at) {
    double expected = 0, magnitude = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      const double product = element(a, Index<2>{at[0], k}) * element(b, Index<2>{k, at[1]});
      expected += product;
      magnitude += std::abs(product);
    }
    INFO("M ", c.extent(0), " N ", c.extent(1), " K ", K, " at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(c, at) - expected) <= tolerance * (magnitude + 1e-30));
  });
}

template <class T, class U>
void check(View<const T, 2> a, View<const T, 2> b, double tolerance, Stream stream = {}) {
  Tensor<U, 2> c(Index<2>{a.extent(0), b.extent(1)});
  matmul(a, b, c.view(), stream);
  check_product<T, U>(a, b, c.view(), tolerance);
}

struct Size {
  std::int64_t M, N, K;
};
constexpr Size sizes[] = {{0, 5, 3},     {5, 0, 3},     {4, 6, 0},    {20, 6, 0},      {1, 1, 1},     {1, 7, 5},
                          {2, 3, 1},     {1, 1000, 37}, {3, 601, 9},  {8, 33, 100},    {9, 32, 256},  {12, 32, 16},
                          {13, 31, 17},  {37, 53, 71},  {97, 101, 3}, {96, 256, 257},  {1, 3, 300},   {7, 1, 64},
                          {100, 1, 513}, {127, 1, 1},   {11, 300, 1}, {101, 270, 520}, {16, 65, 130}, {17, 130, 65},
                          {25, 70, 300}, {33, 515, 40}};

struct Doubled {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Add::apply(x.load<W>(at), x.load<W>(at));
  }
};

struct Evaluated {  // a prologue that counts how often each element is asked for
  View<const float, 2> x;
  View<std::int32_t, 2> times;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    times.store(at, Add::apply(times.load<W>(at), 1));
    return x.load<W>(at);
  }
};

struct BiasRelu {  // an epilogue
  View<const bf16, 2> bias;
  View<bf16, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> c) const {
    y.store(at, Relu::apply(Add::apply(c, bias.load<W>(at))));
  }
};

struct Count {  // counts how often each element of the result is given
  View<std::int32_t, 2> visits;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W>) const {
    visits.store(at, Add::apply(visits.load<W>(at), 1));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("odd sizes and every float type", T, KGEN_TYPES((float, bf16), double, f16, f8e4m3, f8e5m2)) {
  const double tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<T>(Index<2>{M, K}, 1), b = random_tensor<T>(Index<2>{K, N}, 2);
    check<T, compute_t<T>>(a.view(), b.view(), tolerance);
  }
}

TEST_CASE("threads share the work") {
  for (std::int64_t M : {1, 5, 40, 300}) {
    const auto a = random_tensor<float>(Index<2>{M, 200}, 1), b = random_tensor<float>(Index<2>{200, 700}, 2);
    for (int threads : {1, 2, 3}) check<float, float>(a.view(), b.view(), 2e-6, Stream{threads});
  }
}

#if !defined(KGEN_GPU) && !defined(KGEN_SIMT)
TEST_CASE("tiles cover a side, and threads get nearly the same of it") {
  for (std::int64_t extent = 1; extent < 700; ++extent) {
    for (int threads : {2, 3, 4}) {
      for (std::int64_t wanted : {threads, threads + 1, 4 * threads}) {
        const auto tiling = cpu::Tiling::balanced(extent, 256, wanted, 32, 1, threads);
        INFO("extent ", extent, ", threads ", threads, ", wanted ", wanted);
        REQUIRE(tiling.tile <= 256);
        REQUIRE(tiling.range(tiling.count - 1).end == extent);
        REQUIRE(tiling.range(tiling.count - 1).begin < extent);
        const std::int64_t units = (extent + 31) / 32, turns = (tiling.count + threads - 1) / threads;
        REQUIRE(tiling.count <= std::max({wanted, std::int64_t{threads}, (extent + 255) / 256}));
        if (extent <= 256 * threads) REQUIRE(turns * tiling.tile / 32 == (units + threads - 1) / threads);
      }
    }
  }
}
#endif

TEST_CASE("every number of rows up to some tens, beside right operands in rows and in columns") {
  const std::int64_t N = 83, K = 145;
  for (std::int64_t M = 1; M <= 40; ++M) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1);
    const auto b = random_tensor<float>(Index<2>{K, N}, 2), b_t = random_tensor<float>(Index<2>{N, K}, 3);
    check<float, float>(a.view(), b.view(), 2e-6, Stream{1});
    check<float, float>(a.view(), b_t.view().permute<1, 0>(), 2e-6, Stream{1});
  }
}

#if !defined(KGEN_GPU) && !defined(KGEN_SIMT)
TEST_CASE_TEMPLATE("few rows beside every number of columns: infinity stays in its column", T,
                   KGEN_TYPES((float), double, bf16)) {
  constexpr std::int64_t K = 19;
  for (std::int64_t M : {1, 3}) {
    for (std::int64_t N = 1; N <= 70; ++N) {
      const auto a = random_tensor<T>(Index<2>{M, K}, 1);
      auto b = random_tensor<T>(Index<2>{K, N}, 2);
      const std::int64_t column = N * 5 / 7;
      b.elements[static_cast<std::size_t>(7 * N + column)] = T(infinity);
      Tensor<compute_t<T>, 2> c(Index<2>{M, N});
      matmul(a.view(), b.view(), c.view());
      for_each_position(c.shape, [&](Index<2> at) {
        double expected = 0;
        for (std::int64_t k = 0; k < K; ++k) {
          expected += element(a.view(), Index<2>{at[0], k}) * element(b.view(), Index<2>{k, at[1]});
        }
        INFO("M ", M, " N ", N, " at ", at[0], ", ", at[1]);
        const double found = element(c.view(), at);
        REQUIRE((at[1] == column ? std::isinf(found) : std::abs(found - expected) < 1e-4));
      });
    }
  }
}

TEST_CASE("small right operands of whole registers: every number of rows, and nothing beyond them is written") {
  for (const auto& [most, N, K] : {Size{40, 16, 32}, Size{40, 48, 1}, Size{40, 80, 33}, Size{40, 24, 7}}) {
    for (std::int64_t M = 1; M <= most; ++M) {
      const auto a = random_tensor<float>(Index<2>{M, K}, 1), b = random_tensor<float>(Index<2>{K, N}, 2);
      for (const bool turned : {false, true}) {
        const float untouched = 12345;
        Tensor<float, 2> all(turned ? Index<2>{N + 2, M + 2} : Index<2>{M + 2, N + 2});
        for (float& each : all.elements) each = untouched;
        const auto laid = turned ? all.view().permute<1, 0>() : all.view();
        const View<float, 2> inner = laid.slice<0>(1, M).slice<1>(1, N);
        matmul(a.view(), b.view(), inner, Stream{1});
        check_product<float, float>(a.view(), b.view(), inner, 2e-6);
        for (std::int64_t i = 0; i < M + 2; ++i) {
          for (std::int64_t j = 0; j < N + 2; ++j) {
            const bool edge = i == 0 || i == M + 1 || j == 0 || j == N + 1;
            if (edge) REQUIRE(element(View<const float, 2>(laid), Index<2>{i, j}) == untouched);
          }
        }
      }
    }
  }
}
#endif

TEST_CASE("transposed, strided, flipped and broadcast operands; transposed results") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{K, M}, 1), b = random_tensor<float>(Index<2>{N, K}, 2);
    const View<const float, 2> a_t = a.view().permute<1, 0>(), b_t = b.view().permute<1, 0>();
    check<float, float>(a_t, b_t, 2e-6);
    Tensor<float, 2> c(Index<2>{N, M});
    matmul(a_t, b_t, c.view().permute<1, 0>());
    check_product<float, float>(a_t, b_t, View<const float, 2>(c.view().permute<1, 0>()), 2e-6);
  }
  const auto a = random_tensor<float>(Index<2>{40, 90}, 3), b = random_tensor<float>(Index<2>{60, 50}, 4);
  check<float, float>(a.view().slice<1>(5, 30, 2).flip<0>(), b.view().slice<0>(1, 30), 2e-6);
  check<float, float>(a.view().slice<0>(0, 1).slice<1>(0, 60).broadcast_to(Index<2>{20, 60}), b.view().flip<1>(), 2e-6);
}

#if !defined(KGEN_SIMT)  // which has no pieces: they are of the CPU's caches
TEST_CASE("results that sums go straight to: part of a matrix, in several blocks of the depth, nothing beyond written") {
  for (const auto& [M, N, K] : {Size{12, 32, 40}, Size{30, 70, 300}, Size{101, 270, 2100}, Size{64, 64, 1300}}) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1), b = random_tensor<float>(Index<2>{K, N}, 2);
    for (const int threads : {1, 2}) {
      Tensor<float, 2> all(Index<2>{M + 2, N + 21});
      for (float& each : all.elements) each = 7777;
      matmul(a.view(), b.view(), all.view().slice<0>(1, M).slice<1>(9, N), Stream{threads});
      check_product<float, float>(a.view(), b.view(), View<const float, 2>(all.view()).slice<0>(1, M).slice<1>(9, N), 1e-5);
      for_each_position(all.shape, [&](Index<2> at) {
        const bool inside = at[0] >= 1 && at[0] <= M && at[1] >= 9 && at[1] < 9 + N;
        REQUIRE((inside || element(View<const float, 2>(all.view()), at) == 7777));
      });
    }
  }
}

TEST_CASE("more rows and columns than one packed piece holds") {
  const std::int64_t K = 20000;
  const auto a = random_tensor<bf16>(Index<2>{900, K}, 1, -1, 1), b = random_tensor<bf16>(Index<2>{K, 300}, 2, -1, 1);
  Tensor<float, 2> c(Index<2>{900, 300});
  matmul<any_layout, any_rows, 48, 128>(a.view(), b.view(), c.view(), Stream{2});
  for (std::int64_t i : {0, 47, 48, 450, 899}) {
    for (std::int64_t j : {0, 127, 128, 255, 256, 299}) {
      double expected = 0;
      for (std::int64_t k = 0; k < K; ++k)
        expected += element(a.view(), Index<2>{i, k}) * element(b.view(), Index<2>{k, j});
      CHECK(std::abs(element(c.view(), Index<2>{i, j}) - expected) < 0.01);
    }
  }
}
#endif

TEST_CASE("prologues on both operands, an epilogue that converts") {
  for (const Size& size : sizes) {
    const std::int64_t M = size.M, N = size.N, K = size.K;
    const auto a = random_tensor<float>(Index<2>{M, K}, 1), b = random_tensor<float>(Index<2>{K, N}, 2);
    const auto bias = random_tensor<bf16>(Index<1>{N}, 3);
    Tensor<bf16, 2> y(Index<2>{M, N});
    matmul(Doubled{a.view()}, Doubled{b.view()}, BiasRelu{bias.view().broadcast_to(y.shape), y.view()});
    for_each_position(y.shape, [&](Index<2> at) {
      double expected = element(bias.view(), Index<1>{at[1]}), magnitude = std::abs(expected);
      for (std::int64_t k = 0; k < K; ++k) {
        const double product = 4 * element(a.view(), Index<2>{at[0], k}) * element(b.view(), Index<2>{k, at[1]});
        expected += product;
        magnitude += std::abs(product);
      }
      expected = std::max(expected, 0.0);
      REQUIRE(std::abs(element(y.view(), at) - expected) <= 0.004 * expected + 2e-6 * magnitude);
    });
  }
}

#if !defined(KGEN_GPU)
TEST_CASE("a prologue is evaluated once for each element, however many rows and columns there are") {
  // The last right operand is more than what is set aside for what prologues of it make.
  constexpr Size large[] = {{3, 90, 40}, {60, 90, 40}, {700, 90, 40}, {1300, 600, 70}, {520, 610, 28000}};
  for (const auto& [M, N, K] : large) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1), b = random_tensor<float>(Index<2>{K, N}, 2);
    Tensor<std::int32_t, 2> times_a(Index<2>{M, K}), times_b(Index<2>{K, N});
    std::fill(times_a.elements.begin(), times_a.elements.end(), 0);
    std::fill(times_b.elements.begin(), times_b.elements.end(), 0);
    Tensor<float, 2> c(Index<2>{M, N}), expected(Index<2>{M, N});
    matmul(a.view(), b.view(), expected.view(), Stream{2});
    matmul(a.view(), Evaluated{b.view(), times_b.view()}, c.view(), Stream{2});
    INFO("M ", M, " N ", N, " K ", K);
    CHECK(std::count(times_b.elements.begin(), times_b.elements.end(), 1) == K * N);
    CHECK(std::equal(c.elements.begin(), c.elements.end(), expected.elements.begin(), [&](float x, float y) {
      return std::abs(x - y) <= 1e-4f * static_cast<float>(K);
    }));
    if (N > 256) matmul(Evaluated{a.view(), times_a.view()}, b.view(), c.view(), Stream{2});
    CHECK(std::count(times_a.elements.begin(), times_a.elements.end(), 1) == (N > 256 ? M * K : 0));
  }
}
#endif

TEST_CASE("each element of the result is given once") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1), b = random_tensor<float>(Index<2>{K, N}, 2);
    Tensor<std::int32_t, 2> visits(Index<2>{M, N});
    std::fill(visits.elements.begin(), visits.elements.end(), 0);
    matmul(a.view(), b.view(), Count{visits.view()});
    for (std::int32_t count : visits.elements) REQUIRE(count == 1);
  }
}

TEST_CASE("NaN and infinity reach the results that they belong to") {
  for (std::int64_t M : {2, 20}) {
    auto a = random_tensor<float>(Index<2>{M, 50}, 1);
    const auto b = random_tensor<float>(Index<2>{50, 40}, 2, 0.5f, 1);
    a.elements[7] = not_a_number;
    a.elements[50 + 7] = infinity;
    Tensor<float, 2> c(Index<2>{M, 40});
    const auto& read = a;
    matmul(read.view(), b.view(), c.view());
    for (std::int64_t j = 0; j < 40; ++j) {
      CHECK(std::isnan(c.elements[static_cast<std::size_t>(j)]));
      CHECK(c.elements[static_cast<std::size_t>(40 + j)] == infinity);
      if (M > 2) CHECK(std::isfinite(c.elements[static_cast<std::size_t>(80 + j)]));
    }
  }
}
