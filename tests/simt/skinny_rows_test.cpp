// Products of few rows whose sinks use numbers of these rows, as the executor does it.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include "kgen/ops/reductions.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

struct Scale {
  View<const bf16, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <class Row>
  KGEN_FN auto operator()(Row& row) const {
    const auto squares = row.reduce(Mean{}, row.map(Square{}, row.load(x)));
    return row_state(row.map(Rsqrt{}, row.map(Add{}, squares, 1e-3f)));
  }
};

struct Scaled {
  Scale rows;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> product, float scale) const {
    y.store(at, Mul::apply(product, scale));
  }
};

struct GatedRows {
  Scale rows;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> gate, Vec<float, W> up, float scale) const {
    y.store(at, Mul::apply(Mul::apply(gate, scale), up));
  }
};

double scale_of(const Matrix<bf16>& x, std::int64_t row) {
  double squares = 0;
  for (std::int64_t k = 0; k < x.shape[1]; ++k) squares += std::pow(element(x.view(), Index<2>{row, k}), 2);
  return 1 / std::sqrt(squares / static_cast<double>(x.shape[1]) + 1e-3);
}

// y = a * b, each row times what its row of x says, by those launches in each order of the threads.
void check(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t length, int multiprocessors,
           const std::string& launches) {
  const Matrix<bf16> a(Index<2>{M, K}, 1), b(Index<2>{K, N}, 2), x(Index<2>{M, length}, 3);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().multiprocessors = multiprocessors;
    Tensor<float, 2> y(Index<2>{M, N});
    matmul(a.view(), b.view(), Scaled{{x.view()}, y.view()});
    CHECK(device.take() == launches);
    expect_product(y, a, b, [&](Index<2> at, double product) { return product * scale_of(x, at[0]); });
  }
}

}  // namespace

TEST_CASE("skinny rows: the numbers are made by a launch ahead") {
  check(1, 8, 2040, 2040, 12, "rows, a block each x1, skinny_matmul x8");
  check(2, 8, 64, 64, 1, "rows, a wave each x1, skinny_matmul x1");
  check(3, 136, 456, 520, 1, "rows, a block each x3, skinny_matmul x2");
  check(16, 72, 1096, 264, 8, "rows, a block each x16, skinny_matmul x6");  // blocks of a cluster store parts of them
  check(5, 72, 64, 41, 1, "rows, a wave each x1, skinny_matmul x1");      // rows that are no vectors
  check(17, 72, 64, 136, 1, "rows, a wave each x3, skinny_matmul x1");
  check(130, 72, 64, 64, 1, "rows, a wave each x17, warpgroup_matmul x1");
}

TEST_CASE("skinny rows: several products, apart and jointly, of which some use them") {
  Hopper device;
  const Matrix<bf16> a(Index<2>{6, 136}, 1), gate(Index<2>{136, 72}, 2), up(Index<2>{136, 72}, 3);
  const Matrix<bf16> other(Index<2>{136, 24}, 4);
  Tensor<float, 2> gated(Index<2>{6, 72}), y(Index<2>{6, 24}), scaled(Index<2>{6, 24});
  matmul(a.view(), several(gate.view(), up.view(), other.view(), other.view()),
         several(joint<2>(GatedRows{{a.view()}, gated.view()}), y.view(), Scaled{{a.view()}, scaled.view()}));
  CHECK(device.take() == "rows, a wave each x1, skinny_matmul x4");
  expect_product(y, a, other, [](Index<2>, double product) { return product; });
  expect_product(scaled, a, other, [&](Index<2> at, double product) { return product * scale_of(a, at[0]); });
  expect_product(gated, a, gate, [&](Index<2> at, double product) {
    return product * scale_of(a, at[0]) * expected(a.view(), up.view(), at);
  });
}

#endif
