// Running sums against sums in double: every axis, both directions, long lines, strides, prologue and epilogue.
#include "kgen/cumsum.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// body(at, sum, magnitude) for every position: the exact running sum of `values`, and that of magnitudes.
template <int R, class S, class Body>
void for_each_sum(const S& values, int axis, bool exclusive, bool reverse, const Body& body) {
  Index<R> lines = values.shape();
  const std::int64_t length = lines[axis];
  lines[axis] = 1;
  for_each_position(lines, [&](Index<R> at) {
    double sum = 0, magnitude = 0;
    for (std::int64_t s = 0; s < length; ++s) {
      at[axis] = reverse ? length - 1 - s : s;
      const double before = sum, value = element(values, at);
      sum += value;
      magnitude += std::abs(value);
      body(at, exclusive ? before : sum, magnitude);
    }
  });
}

template <class T, int R>
void check(const View<const T, R>& x, int axis, bool exclusive, bool reverse, Stream stream = {}) {
  Tensor<compute_t<T>, R> out(x.shape());
  cumsum(x, axis - R, exclusive, reverse, out.view(), stream);
  const double tolerance = std::is_integral_v<T> ? 0 : std::is_same_v<T, double> ? 1e-14 : 1e-6;
  for_each_sum<R>(x, axis, exclusive, reverse, [&](Index<R> at, double sum, double magnitude) {
    INFO("axis ", axis, " of extent ", x.extent(axis), ", at ", at[axis], exclusive ? " exclusive" : "",
         reverse ? " reverse" : "");
    REQUIRE(std::abs(element(out.view(), at) - sum) <= tolerance * magnitude);
  });
}

template <class T, int R>
void check_all(const View<const T, R>& x, Stream stream = {}) {
  for (int axis = 0; axis < R; ++axis) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) check<T, R>(x, axis, exclusive, reverse, stream);
    }
  }
}

struct Doubled {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Add::apply(x.load<W>(at), x.load<W>(at));
  }
};

struct BiasRelu {  // an epilogue
  View<const bf16, 2> bias;
  View<bf16, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> sum) const {
    y.store(at, Relu::apply(Add::apply(sum, bias.load<W>(at))));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("cumsum: every axis and direction", T, KGEN_TYPES((bf16, std::int32_t), float, double, std::uint8_t)) {
  constexpr Index<3> shapes[] = {{1, 1, 1}, {2, 3, 5}, {3, 70, 33}, {5, 4, 130}, {1, 200, 2}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}};
  for (const Index<3>& shape : shapes) {
    const auto x = random_tensor<T>(shape, 1, 0, 3);
    check_all<T, 3>(x.view());
  }
}

TEST_CASE("cumsum: lines of several stretches, one by one and shared by threads") {
  for (const std::int64_t length : {8191, 8192, 8193, 20000}) {
    const auto x = random_tensor<float>(Index<2>{2, length}, 1);
    check_all<float, 2>(x.view());
    check_all<float, 2>(x.view().slice<1>(3, length / 3, 2).flip<1>());
    const auto high = random_tensor<float>(Index<2>{length, 3}, 2);
    check_all<float, 2>(high.view());
  }
  const auto line = random_tensor<float>(Index<1>{100000}, 3);
  check_all<float, 1>(line.view());
}

TEST_CASE("cumsum: transposed, broadcast and flipped") {
  const auto x = random_tensor<float>(Index<2>{37, 150}, 1);
  check_all<float, 2>(x.view().permute<1, 0>());
  check_all<float, 2>(x.view().flip<0>().slice<1>(1, 140));
  check_all<float, 2>(x.view().slice<0>(0, 1).broadcast_to(Index<2>{9, 150}));
}

TEST_CASE("cumsum: prologue, and an epilogue that converts") {
  for (const Index<2> shape : {Index<2>{7, 300}, Index<2>{300, 7}, Index<2>{1, 9001}}) {
    const auto x = random_tensor<float>(shape, 1);
    const auto bias = random_tensor<bf16>(Index<1>{shape[1]}, 2);
    for (const int axis : {0, 1}) {
      Tensor<bf16, 2> y(shape);
      cumsum(Doubled{x.view()}, axis, false, false, BiasRelu{bias.view().broadcast_to(shape), y.view()});
      for_each_sum<2>(x.view(), axis, false, false, [&](Index<2> at, double sum, double magnitude) {
        const double expected = std::max(2 * sum + element(bias.view(), Index<1>{at[1]}), 0.0);
        REQUIRE(std::abs(element(y.view(), at) - expected) <= 0.004 * expected + 2e-6 * magnitude);
      });
    }
  }
}

TEST_CASE("cumsum: NaN and infinity go on to the end of their lines, and to no other") {
  for (const bool reverse : {false, true}) {
    auto x = random_tensor<float>(Index<2>{4, 500}, 1);
    x.elements[100] = not_a_number;
    x.elements[500 + 200] = infinity;
    Tensor<float, 2> out(x.shape);
    cumsum(View<const float, 2>(x.view()), 1, false, reverse, out.view());
    for_each_position(out.shape, [&](Index<2> at) {
      const float value = out.elements[static_cast<std::size_t>(at[0] * 500 + at[1])];
      const std::int64_t special = at[0] == 0 ? 100 : at[0] == 1 ? 200 : -1;
      const bool behind = special >= 0 && (reverse ? at[1] <= special : at[1] >= special);
      REQUIRE(std::isfinite(value) != behind);
      if (behind && at[0] == 1) REQUIRE(value == infinity);
    });
  }
}

TEST_CASE("cumsum: the same bits in every run") {
  const auto x = random_tensor<float>(Index<2>{1, 100003}, 1);
  Tensor<float, 2> first(x.shape), again(x.shape);
  cumsum(x.view(), 1, false, false, first.view());
  cumsum(x.view(), 1, false, false, again.view());
  CHECK(first.elements == again.elements);
#if !defined(KGEN_GPU)
  for (const int threads : {1, 2, 3, 7}) {
    cumsum(x.view(), 1, false, false, again.view(), Stream{threads});
    CHECK(first.elements == again.elements);
  }
#endif
}
