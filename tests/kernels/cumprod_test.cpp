// Running products against products in double: every axis, both directions, strides, what overflows beside a zero.
#include "kgen/cumprod.hpp"

#include "kgen/ops/activation.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// body(at, product, steps) for every position: the running product of `values`, of so many elements.
template <int R, class S, class Body>
void for_each_product(const S& values, int axis, bool exclusive, bool reverse, const Body& body) {
  Index<R> lines = values.shape();
  const std::int64_t length = lines[axis];
  lines[axis] = 1;
  for_each_position(lines, [&](Index<R> at) {
    double product = 1;
    for (std::int64_t s = 0; s < length; ++s) {
      at[axis] = reverse ? length - 1 - s : s;
      const double before = product;
      product *= element(values, at);
      body(at, exclusive ? before : product, s + 1);
    }
  });
}

template <class T, int R>
void check_all(const View<const T, R>& x) {
  for (int axis = 0; axis < R; ++axis) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        Tensor<compute_t<T>, R> out(x.shape());
        cumprod(x, axis - R, exclusive, reverse, out.view());
        const double rounding = std::is_integral_v<T> ? 0 : std::is_same_v<T, double> ? 1e-15 : 1.2e-7;
        for_each_product<R>(x, axis, exclusive, reverse, [&](Index<R> at, double product, std::int64_t steps) {
          INFO("axis ", axis, " of extent ", x.extent(axis), ", at ", at[axis], exclusive ? " exclusive" : "",
               reverse ? " reverse" : "");
          REQUIRE(std::abs(element(out.view(), at) - product) <=
                  rounding * static_cast<double>(steps) * std::abs(product));
        });
      }
    }
  }
}

struct Halved {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return x.load<W>(at) * Vec<float, W>(0.5F);
  }
};

struct Positive {  // an epilogue
  View<bf16, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> product) const {
    y.store(at, Relu::apply(product));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("cumprod: every axis and direction", T, KGEN_TYPES((bf16), float, double)) {
  constexpr Index<3> shapes[] = {{1, 1, 1},   {2, 3, 5}, {3, 70, 33}, {5, 4, 130},
                                 {1, 200, 2}, {0, 3, 4}, {3, 0, 4},   {3, 4, 0}};
  for (const Index<3>& shape : shapes) {
    const auto x = random_tensor<T>(shape, 1, 0.7F, 1.4F);
    check_all<T, 3>(x.view());
    check_all<T, 3>(x.view().template permute<2, 0, 1>());
    check_all<T, 3>(x.view().template flip<2>());
  }
}

TEST_CASE("cumprod: integers, which wrap") {
  const auto few = random_tensor<std::int32_t>(Index<3>{3, 15, 15}, 1, -2, 3);
  check_all<std::int32_t, 3>(few.view());
  auto x = Tensor<std::int64_t, 2>(Index<2>{2, 130});
  for (std::int64_t& each : x.elements) each = 3;
  Tensor<std::int64_t, 2> out(x.shape);
  cumprod(View<const std::int64_t, 2>(x.view()), 1, false, false, out.view());
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < 130; ++i) {
    power *= 3;
    REQUIRE(static_cast<std::uint64_t>(out.elements[130 + i]) == power);
  }
}

TEST_CASE("cumprod: behind a zero all is zero, whatever overflows there") {
  for (const int axis : {0, 1}) {
    Tensor<float, 2> x(Index<2>{300, 300}), out(x.shape);
    for (float& each : x.elements) each = 1e30F;
    for (std::size_t line = 0; line < 300; ++line) x.elements[axis == 0 ? line : 300 * line] = 0;
    cumprod(View<const float, 2>(x.view()), axis, false, false, out.view());
    for (const float each : out.elements) REQUIRE(each == 0);
  }
}

TEST_CASE("cumprod: prologue, and an epilogue that converts") {
  for (const Index<2> shape : {Index<2>{7, 40}, Index<2>{40, 7}}) {
    const auto x = random_tensor<float>(shape, 1, -3, 3);
    for (const int axis : {0, 1}) {
      Tensor<bf16, 2> y(shape);
      cumprod(Halved{x.view()}, axis, false, false, Positive{y.view()});
      for_each_product<2>(x.view(), axis, false, false, [&](Index<2> at, double product, std::int64_t steps) {
        const double expected = std::max(product * std::pow(0.5, steps), 0.0);
        REQUIRE(std::abs(element(y.view(), at) - expected) <= 0.004 * expected);
      });
    }
  }
}
