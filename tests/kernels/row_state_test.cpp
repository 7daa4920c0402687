// Sinks that use numbers of their rows (kgen/row_state.hpp), against a reference in double.
#include "kgen/row_state.hpp"

#include "kgen/matmul.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// 1 / the root of the mean of the squares of a row, and the row's mean.
template <class T>
struct Moments {
  View<const T, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <class Row>
  KGEN_FN auto operator()(Row& row) const {
    const auto squares = row.reduce(Mean{}, row.map(Square{}, row.load(x)));
    return row_state(row.map(Rsqrt{}, row.map(Add{}, squares, 1e-3f)), row.reduce(Mean{}, row.load(x)));
  }
};

template <class T>
struct Normalised {
  Moments<T> rows;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> product, float scale, float mean) const {
    y.store(at, Sub::apply(Mul::apply(product, scale), mean));
  }
};

template <class T>
struct GatedRows {
  Moments<T> rows;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> gate, Vec<float, W> up, float scale, float) const {
    y.store(at, Mul::apply(Mul::apply(gate, scale), Mul::apply(up, scale)));
  }
};

double product(const auto& a, const auto& b, Index<2> at) {
  double sum = 0;
  for (std::int64_t k = 0; k < a.extent(1); ++k) sum += element(a, Index<2>{at[0], k}) * element(b, Index<2>{k, at[1]});
  return sum;
}

struct Numbers {
  double scale, mean;
};
Numbers numbers(const auto& x, std::int64_t row) {
  double squares = 0, sum = 0;
  for (std::int64_t k = 0; k < x.extent(1); ++k) {
    const double each = element(x, Index<2>{row, k});
    squares += each * each, sum += each;
  }
  const auto length = static_cast<double>(x.extent(1));
  return {1 / std::sqrt(squares / length + 1e-3), sum / length};
}

template <class T>
void check(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t row) {
  const auto a = random_tensor<T>(Index<2>{M, K}, 1), b = random_tensor<T>(Index<2>{K, N}, 2);
  const auto up = random_tensor<T>(Index<2>{K, N}, 3), x = random_tensor<T>(Index<2>{M, row}, 4);
  Tensor<float, 2> y(Index<2>{M, N}), gated(Index<2>{M, N}), plain(Index<2>{M, N});
  matmul(a.view(), b.view(), Normalised<T>{{x.view()}, y.view()});
  matmul(a.view(), several(b.view(), up.view(), b.view()),
         several(joint<2>(GatedRows<T>{{x.view()}, gated.view()}), plain.view()));
  for_each_position(y.shape, [&](Index<2> at) {
    INFO(M, " x ", N, " x ", K, " at ", at[0], ", ", at[1]);
    const auto [scale, mean] = numbers(x.view(), at[0]);
    const double gate = product(a.view(), b.view(), at), other = product(a.view(), up.view(), at);
    const double tolerance = 1e-4 * (1 + static_cast<double>(K)) * (1 + scale * scale);
    REQUIRE(std::abs(element(y.view(), at) - (gate * scale - mean)) <= tolerance);
    REQUIRE(std::abs(element(gated.view(), at) - gate * scale * other * scale) <= tolerance * (1 + std::abs(gate)));
    REQUIRE(std::abs(element(plain.view(), at) - gate) <= tolerance);
  });
}

}  // namespace

TEST_CASE_TEMPLATE("row states: a product scaled and shifted by numbers of other rows", T, float, bf16) {
  check<T>(1, 8, 16, 64);
  check<T>(5, 17, 33, 41);  // rows that are no vectors
  check<T>(70, 65, 24, 136);
  check<T>(3, 9, 0, 5);
  check<T>(0, 9, 4, 5);
}

TEST_CASE("row states: rows that lie apart") {
  const auto a = random_tensor<float>(Index<2>{4, 8}, 1), b = random_tensor<float>(Index<2>{8, 16}, 2);
  const auto wide = random_tensor<float>(Index<2>{4, 40}, 3);
  const View<const float, 2> x = View<const float, 2>(wide.view()).slice<1>(3, 21);
  Tensor<float, 2> y(Index<2>{4, 16});
  matmul(a.view(), b.view(), Normalised<float>{{x}, y.view()});
  for_each_position(y.shape, [&](Index<2> at) {
    const auto [scale, mean] = numbers(x, at[0]);
    CHECK(std::abs(element(y.view(), at) - (product(a.view(), b.view(), at) * scale - mean)) <= 1e-3);
  });
}
