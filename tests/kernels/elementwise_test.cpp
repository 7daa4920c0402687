// Elementwise: every position once, whatever the shape, the strides and the threads.
#include "kgen/elementwise.hpp"

#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// y += a * b + 1; a position that is visited twice, or never, shows.
template <class T, int R>
struct Accumulate {
  View<const T, R> a, b, before;  // before: y, as an operand that the result takes the place of
  View<T, R> y;

  template <int W>
  KGEN_FN void operator()(Index<R> at) const {
    const auto product = Mul::apply(a.template load<W>(at), b.template load<W>(at));
    y.store(at, Add::apply(before.template load<W>(at), Add::apply(product, 1)));
  }
};

template <class T, int R>
void check(View<const T, R> a, View<const T, R> b, View<T, R> y, Stream stream) {
  for (const bool across : {false, true}) {
    for_each_position(y.shape(), [&](Index<R> at) { y.store(at, Vec<T, 1>(0)); });
    const Accumulate<T, R> accumulate{a, b, y, y};
    if (across) {
      elementwise_across(y.shape(), accumulate, stream);
    } else {
      elementwise(y.shape(), accumulate, stream);
    }
    for_each_position(y.shape(), [&](Index<R> at) {
      REQUIRE(element(y, at) == static_cast<T>(static_cast<T>(element(a, at)) * static_cast<T>(element(b, at)) + 1));
    });
  }
}

}  // namespace

TEST_CASE_TEMPLATE("odd sizes, zero sizes and threads", T, KGEN_TYPES((float), double, std::int32_t)) {
  for (const Index<2> shape :
       {Index<2>{0, 5}, {5, 0}, {1, 1}, {1, 17}, {3, 16}, {7, 33}, {1000, 3}, {2, 50000}, {1, 100001}, {200, 300}}) {
    const auto a = random_tensor<T>(shape, 1, -9, 9), b = random_tensor<T>(shape, 2, -9, 9);
    Tensor<T, 2> y(shape);
    for (int threads : {0, 1, 2, 3}) check(a.view(), b.view(), y.view(), Stream{threads});
  }
}

TEST_CASE("ranks 0 to 4") {
  Tensor<float, 0> a(Index<0>{}), y(Index<0>{});
  a.elements[0] = 3;
  const Tensor<float, 0>& read = a;
  check(read.view(), read.view(), y.view(), {});
  const auto b = random_tensor<float>(Index<4>{3, 2, 5, 7}, 4);
  Tensor<float, 4> z(b.shape);
  check(b.view(), b.view(), z.view(), Stream{2});
}

TEST_CASE("strided, flipped, transposed and broadcast operands; strided results") {
  const auto a = random_tensor<float>(Index<2>{60, 40}, 5);
  const auto row = random_tensor<float>(Index<1>{40}, 6);
  const auto column = random_tensor<float>(Index<2>{60, 1}, 7);
  Tensor<float, 2> y(Index<2>{60, 40});
  check(a.view().flip<1>(), row.view().broadcast_to(y.shape), y.view(), {});
  check(a.view().flip<0>(), column.view().broadcast_to(y.shape), y.view(), {});
  Tensor<float, 2> transposed(Index<2>{40, 60});
  check(a.view(), a.view(), transposed.view().permute<1, 0>(), {});
  Tensor<float, 2> wide(Index<2>{60, 80});
  check(a.view(), a.view(), wide.view().slice<1>(1, 40, 2), {});
  for (std::size_t i = 0; i < wide.elements.size(); i += 2) REQUIRE(wide.elements[i] == poison<float>());
}

// The axes of a tensor in another order, as an operand and as a result, in elements of each size: lanes are turned in
// squares of registers, and element by element where a square does not fit.
TEST_CASE_TEMPLATE("permutations of axes", T, KGEN_TYPES((float, bf16), double, std::int8_t, std::int16_t)) {
  const auto check_order = [&]<int R, int... Axes>(Index<R> shape, std::integer_sequence<int, Axes...>) {
    auto x = random_tensor<T>(shape, 11, -9, 9);
    const auto turned = std::as_const(x).view().template permute<Axes...>();
    for (int threads : {1, 3}) {
      Tensor<T, R> y(turned.shape());
      copy(turned.shape(), turned, y.view(), Stream{threads});
      for_each_position(turned.shape(), [&](Index<R> at) { REQUIRE(element(y.view(), at) == element(turned, at)); });
      Tensor<T, R> back(shape);
      copy(turned.shape(), std::as_const(y).view(), back.view().template permute<Axes...>(), Stream{threads});
      for_each_position(shape, [&](Index<R> at) { REQUIRE(element(back.view(), at) == element(x.view(), at)); });
    }
  };
  for (const Index<2> shape : {Index<2>{130, 67}, {64, 64}, {3, 200}, {200, 5}, {1, 9}, {0, 4}}) {
    check_order(shape, std::integer_sequence<int, 1, 0>{});
  }
  check_order(Index<3>{5, 40, 33}, std::integer_sequence<int, 2, 0, 1>{});
  check_order(Index<3>{35, 4, 70}, std::integer_sequence<int, 2, 1, 0>{});
  check_order(Index<4>{2, 19, 7, 21}, std::integer_sequence<int, 0, 2, 3, 1>{});
  check_order(Index<4>{2, 7, 21, 19}, std::integer_sequence<int, 0, 3, 1, 2>{});
  check_order(Index<4>{3, 9, 5, 16}, std::integer_sequence<int, 0, 2, 1, 3>{});
  check_order(Index<4>{6, 5, 7, 8}, std::integer_sequence<int, 3, 2, 1, 0>{});
}

// Operands and results that lie along three and four axes, at sizes of which some fill a tile, and some several blocks.
TEST_CASE_TEMPLATE("each operand in an order of its own", T, KGEN_TYPES((float), std::int16_t)) {
  for (const Index<3> shape : {Index<3>{5, 6, 7}, {33, 70, 41}, {4, 300, 129}, {130, 9, 64}, {3, 0, 5}}) {
    const auto a = random_tensor<T>(Index<3>{shape[2], shape[1], shape[0]}, 21, -9, 9);
    const auto b = random_tensor<T>(Index<3>{shape[0], shape[2], shape[1]}, 22, -9, 9);
    const auto turned = a.view().template permute<2, 1, 0>();
    const auto beside = b.view().template permute<0, 2, 1>();
    Tensor<T, 3> y(shape), z(Index<3>{shape[1], shape[2], shape[0]});
    for (int threads : {1, 3}) {
      check<T, 3>(turned, beside, y.view(), Stream{threads});
      check<T, 3>(turned, beside, z.view().template permute<2, 0, 1>(), Stream{threads});
    }
  }
  const auto a = random_tensor<T>(Index<4>{19, 6, 23, 9}, 23, -9, 9), b = random_tensor<T>(Index<4>{23, 19, 9, 6}, 24);
  Tensor<T, 4> y(Index<4>{9, 23, 6, 19});
  check<T, 4>(a.view().template permute<3, 2, 1, 0>(), b.view().template permute<2, 0, 3, 1>(), y.view(), Stream{2});
}
