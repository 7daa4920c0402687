// Triangles of matrices, element by element: both sides, every diagonal, every kind of element, strides, prologue and
// epilogue.
#include "kgen/trilu.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <int R>
bool is_kept(const Index<R>& at, std::int64_t diagonal, bool upper) {
  const std::int64_t distance = at[R - 1] - at[R - 2];
  return upper ? distance >= diagonal : distance <= diagonal;
}

template <class T, int R>
void check(const View<const T, R>& x) {
  for (const bool upper : {false, true}) {
    for (const std::int64_t diagonal : {0, 1, -1, 2, -3, 16, -16, 31, 40, -40, 1000, -1000}) {
      Tensor<T, R> out(x.shape());
      trilu(x, diagonal, upper, out.view());
      for_each_position(out.shape, [&](Index<R> at) {
        INFO("diagonal ", diagonal, " upper ", upper);
        REQUIRE(element(out.view(), at) == (is_kept(at, diagonal, upper) ? element(x, at) : 0));
      });
    }
  }
}

struct PlusOne {  // a prologue that makes something of 0
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Add::apply(x.load<W>(at), 1.0f);
  }
};

struct PlusBias {  // an epilogue
  View<const float, 2> bias;
  View<double, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> lanes) const {
    y.store(at, Add::apply(lanes, bias.load<W>(at)));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("trilu: every kind of element", T, KGEN_TYPES((bf16, std::int64_t), float, double, f8e4m3, std::int8_t)) {
  for (const Index<2> shape : {Index<2>{1, 1}, Index<2>{3, 5}, Index<2>{41, 33}, Index<2>{7, 130}, Index<2>{67, 4},
                               Index<2>{0, 3}, Index<2>{3, 0}}) {
    check<T, 2>(random_tensor<T>(shape, 1, 1, 3).view());
  }
}

TEST_CASE("trilu: other ranks and strides") {
  const auto box = random_tensor<float>(Index<4>{2, 3, 9, 37}, 3);
  check<float, 4>(box.view());
  check<float, 4>(box.view().permute<3, 1, 0, 2>().flip<0>());
  check<float, 4>(box.view().permute<0, 1, 3, 2>());
  check<float, 3>(random_tensor<float>(Index<3>{3, 20, 20}, 4).view());
}

TEST_CASE("trilu: diagonals that no matrix has, however far") {
  const auto x = random_tensor<float>(Index<2>{5, 19}, 1);
  for (const bool upper : {false, true}) {
    for (const std::int64_t diagonal :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
      Tensor<float, 2> out(x.shape);
      trilu(x.view(), diagonal, upper, out.view());
      for_each_position(out.shape, [&](Index<2> at) {
        REQUIRE(element(out.view(), at) == (upper == (diagonal < 0) ? element(x.view(), at) : 0));
      });
    }
  }
}

TEST_CASE("trilu: truth values, and what is not a number") {
  const bool x[4] = {true, true, true, true};
  bool out[4] = {};
  trilu(View<const bool, 2>(x, {2, 2}), 0, true, View<bool, 2>(out, {2, 2}));
  CHECK((out[0] && out[1] && !out[2] && out[3]));

  Tensor<float, 2> lost(Index<2>{20, 20}), kept(lost.shape);
  for (float& each : lost.elements) each = std::numeric_limits<float>::quiet_NaN();
  trilu(std::as_const(lost).view(), 0, false, kept.view());
  for_each_position(kept.shape, [&](Index<2> at) {
    const double value = element(kept.view(), at);
    REQUIRE((at[1] <= at[0] ? std::isnan(value) : value == 0));
  });
}

TEST_CASE("trilu: what a prologue makes of 0 is in the triangle alone; the epilogue sees all") {
  const auto x = random_tensor<float>(Index<2>{21, 45}, 1), bias = random_tensor<float>(x.shape, 2);
  for (const bool upper : {false, true}) {
    Tensor<double, 2> y(x.shape);
    trilu(PlusOne{x.view()}, 3, upper, PlusBias{bias.view(), y.view()});
    for_each_position(y.shape, [&](Index<2> at) {
      const float inner = is_kept(at, 3, upper) ? static_cast<float>(element(x.view(), at)) + 1 : 0;
      REQUIRE(element(y.view(), at) == inner + static_cast<float>(element(bias.view(), at)));
    });
  }
}
