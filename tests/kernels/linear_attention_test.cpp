// Linear attention against the formulas element by element, in double: with a rate and without, shared states, sizes
// that fill no register, strides, states of no element and no step.
#include "kgen/linear_attention.hpp"

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T>
struct Heads {
  std::int64_t B, S, G, H, D, E;
  Tensor<T, 4> q, k, v, state, decay;
  Tensor<T, 3> rate;
  double scale = 0.5;

  Heads(std::int64_t batch, std::int64_t steps, std::int64_t queries, std::int64_t heads, std::int64_t keys,
        std::int64_t values)
      : B(batch), S(steps), G(queries), H(heads), D(keys), E(values), q(random_tensor<T>(Index<4>{B, S, G, D}, 1)),
        k(random_tensor<T>(Index<4>{B, S, H, D}, 2, -0.5f, 0.5f)), v(random_tensor<T>(Index<4>{B, S, H, E}, 3)),
        state(random_tensor<T>(Index<4>{B, H, D, E}, 4)), decay(random_tensor<T>(Index<4>{B, S, H, D}, 5, 0.5f, 1.0f)),
        rate(random_tensor<T>(Index<3>{B, S, H}, 6, 0.0f, 1.0f)) {}

  void check(bool corrects, const View<const T, 4>& values) const {
    Tensor<T, 4> y(Index<4>{B, S, G, E}), last(state.shape);
    if (corrects) {
      linear_attention(q.view(), k.view(), values, state.view(), decay.view(), rate.view(), scale, y.view(),
                       last.view());
    } else {
      linear_attention(q.view(), k.view(), values, state.view(), decay.view(), scale, y.view(), last.view());
    }
    const double tolerance = std::is_same_v<T, double> ? 1e-13 : 1e-4;
    for_each_position(Index<3>{B, H, E}, [&](Index<3> at) {
      const auto [b, h, e] = std::tuple(at[0], at[1], at[2]);
      std::vector<double> column(static_cast<std::size_t>(D));
      for (std::int64_t d = 0; d < D; ++d) column[std::size_t(d)] = element(state.view(), Index<4>{b, h, d, e});
      for (std::int64_t t = 0; t < S; ++t) {
        double added = element(values, Index<4>{b, t, h, e}), said = 0;
        for (std::int64_t d = 0; d < D; ++d) {
          column[std::size_t(d)] *= element(decay.view(), Index<4>{b, t, h, d});
          said += element(k.view(), Index<4>{b, t, h, d}) * column[std::size_t(d)];
        }
        if (corrects) added = element(rate.view(), Index<3>{b, t, h}) * (added - said);
        for (std::int64_t d = 0; d < D; ++d) column[std::size_t(d)] += element(k.view(), Index<4>{b, t, h, d}) * added;
        for (std::int64_t g = h * (G / H); g < (h + 1) * (G / H); ++g) {
          double sum = 0;
          for (std::int64_t d = 0; d < D; ++d) sum += element(q.view(), Index<4>{b, t, g, d}) * column[std::size_t(d)];
          INFO("head ", g, ", step ", t, ", column ", e);
          REQUIRE(std::abs(element(y.view(), Index<4>{b, t, g, e}) - scale * sum) <= tolerance * (1 + std::abs(sum)));
        }
      }
      for (std::int64_t d = 0; d < D; ++d) {
        const double exact = column[std::size_t(d)], got = element(last.view(), Index<4>{b, h, d, e});
        REQUIRE(std::abs(got - exact) <= tolerance * (1 + std::abs(exact)));
      }
    });
  }
};

}  // namespace

TEST_CASE_TEMPLATE("linear_attention: with a rate and without, of every width", T, float, double) {
  for (const std::int64_t width : {1, 3, 8, 16, 33, 70}) {
    for (const bool corrects : {false, true}) {
      const Heads<T> heads(2, 5, 6, 3, 7, width);
      heads.check(corrects, heads.v.view());
    }
  }
  for (const bool corrects : {false, true}) {
    const Heads<T> one(1, 1, 1, 1, 1, 1), long_one(1, 40, 2, 2, 16, 20);
    one.check(corrects, one.v.view());
    long_one.check(corrects, long_one.v.view());
  }
}

TEST_CASE("linear_attention: strides, no step, no element, values of another type") {
  const Heads<float> heads(2, 4, 2, 2, 5, 6);
  const auto across = random_tensor<float>(Index<4>{6, 2, 4, 2}, 8);
  heads.check(true, across.view().permute<3, 2, 1, 0>());
  heads.check(false, across.view().permute<3, 2, 1, 0>());
  for (const bool corrects : {false, true}) {
    const Heads<float> still(2, 0, 2, 1, 3, 9), none(0, 3, 2, 1, 3, 9), narrow(1, 3, 2, 1, 0, 9);
    still.check(corrects, still.v.view());
    none.check(corrects, none.v.view());
    narrow.check(corrects, narrow.v.view());
  }
  const auto q = random_tensor<bf16>(Index<4>{1, 3, 2, 4}, 9), k = random_tensor<bf16>(Index<4>{1, 3, 2, 4}, 10);
  const auto v = random_tensor<bf16>(Index<4>{1, 3, 2, 5}, 11);
  Heads<float> same(1, 3, 2, 2, 4, 5);
  const Heads<float>& wide = same;
  for (std::size_t i = 0; i < q.elements.size(); ++i) same.q.elements[i] = static_cast<float>(q.elements[i]);
  for (std::size_t i = 0; i < k.elements.size(); ++i) same.k.elements[i] = static_cast<float>(k.elements[i]);
  for (std::size_t i = 0; i < v.elements.size(); ++i) same.v.elements[i] = static_cast<float>(v.elements[i]);
  const Index<4> shape{1, 3, 2, 5}, states{1, 2, 4, 5};
  Tensor<float, 4> y(shape), last(states), exact(shape), exact_last(states);
  linear_attention(q.view(), k.view(), v.view(), wide.state.view(), wide.decay.view(), 1.0, y.view(), last.view());
  linear_attention(wide.q.view(), wide.k.view(), wide.v.view(), wide.state.view(), wide.decay.view(), 1.0, exact.view(),
                   exact_last.view());
  CHECK(y.elements == exact.elements);
  CHECK(last.elements == exact_last.elements);
}
