// Frames around tensors, element by element: every mode, every kind of dtype, strides, prologue and epilogue.
#include "kgen/pad.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

constexpr PadMode modes[] = {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap};

// What numpy.pad has at one index of an axis of `extent`; -1 for the constant. Steps to and fro, one by one.
std::int64_t source_of(std::int64_t i, std::int64_t extent, PadMode mode) {
  if (extent == 0) return -1;
  if (mode == PadMode::constant) return i >= 0 && i < extent ? i : -1;
  if (mode == PadMode::wrap) return extent == 0 ? -1 : ((i % extent) + extent) % extent;
  if (mode == PadMode::edge) return i < 0 ? 0 : i < extent ? i : extent - 1;
  if (extent == 1) return 0;
  std::int64_t at = 0, direction = 1;  // the mirror image is the same on both sides of element 0
  for (std::int64_t steps = i < 0 ? -i : i; steps > 0; --steps) {
    if (at + direction < 0 || at + direction >= extent) direction = -direction;
    at += direction;
  }
  return at;
}

template <int R>
Index<R> padded_shape(Index<R> shape, const Index<2 * R>& pads) {
  for (int axis = 0; axis < R; ++axis) shape[axis] += pads[axis] + pads[R + axis];
  return shape;
}

// What stands at `at` of the result.
template <class T, int R>
double expected(const View<const T, R>& x, const Index<2 * R>& pads, PadMode mode, double value, Index<R> at) {
  for (int axis = 0; axis < R; ++axis) {
    at[axis] = source_of(at[axis] - pads[axis], x.extent(axis), mode);
    if (at[axis] < 0) return static_cast<double>(static_cast<T>(static_cast<compute_t<T>>(value)));
  }
  return element(x, at);
}

template <class T, int R>
void check(const View<const T, R>& x, const Index<2 * R>& pads, double value) {
  for (const PadMode mode : modes) {
    Tensor<T, R> out(padded_shape(x.shape(), pads));
    pad(x, pads, mode, value, out.view());
    for_each_position(out.shape, [&](Index<R> at) {
      INFO("mode ", static_cast<int>(mode));
      REQUIRE(element(out.view(), at) == expected(x, pads, mode, value, at));
    });
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

struct TimesScale {  // an epilogue
  View<const float, 2> scale;
  View<double, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> lanes) const {
    y.store(at, Mul::apply(lanes, scale.load<W>(at)));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("pad: every mode and kind of element", T, KGEN_TYPES((bf16, std::int64_t), float, double, f8e4m3, std::int8_t)) {
  const double value = -3;
  for (const Index<2> shape : {Index<2>{1, 1}, Index<2>{3, 5}, Index<2>{4, 64}, Index<2>{2, 41}, Index<2>{0, 3}, Index<2>{3, 0}}) {
    const auto x = random_tensor<T>(shape, 1, 0, 3);
    check<T, 2>(x.view(), Index<4>{0, 0, 0, 0}, value);
    check<T, 2>(x.view(), Index<4>{1, 2, 3, 4}, value);
    check<T, 2>(x.view(), Index<4>{0, 16, 0, 9}, value);
    check<T, 2>(x.view(), Index<4>{7, 0, 0, 1}, value);
  }
}

TEST_CASE("pad: other ranks and strides") {
  const auto scalar = random_tensor<float>(Index<0>{}, 1);
  check<float, 0>(scalar.view(), Index<0>{}, 1);
  const auto line = random_tensor<float>(Index<1>{67}, 2);
  check<float, 1>(line.view(), Index<2>{5, 60}, infinity);
  const auto box = random_tensor<float>(Index<4>{2, 3, 4, 37}, 3);
  check<float, 4>(box.view(), Index<8>{0, 1, 2, 3, 1, 0, 2, 5}, 0.5);
  check<float, 4>(box.view().permute<3, 1, 0, 2>().flip<0>(), Index<8>{0, 1, 2, 3, 1, 0, 2, 5}, 0.5);
}

TEST_CASE("pad: truth values") {
  const bool x[5] = {true, false, true, true, false};
  bool out[40] = {};
  pad(View<const bool, 1>(x, {5}), Index<2>{20, 15}, PadMode::constant, 1, View<bool, 1>(out, {40}));
  for (int i = 0; i < 40; ++i) CHECK(out[i] == (i < 20 || i >= 25 || x[i - 20]));
}

TEST_CASE("pad: what a prologue makes of 0 is not in the frame; the epilogue sees all") {
  const auto x = random_tensor<float>(Index<2>{5, 33}, 1);
  const Index<4> pads{1, 3, 2, 4};
  for (const PadMode mode : modes) {
    const auto scale = random_tensor<float>(padded_shape(x.shape, pads), 2);
    Tensor<double, 2> y(scale.shape);
    pad(PlusOne{x.view()}, pads, mode, 100, TimesScale{scale.view(), y.view()});
    for_each_position(y.shape, [&](Index<2> at) {
      const double inner = expected(x.view(), pads, mode, 99, at);
      const float product = static_cast<float>(inner + 1) * static_cast<float>(element(scale.view(), at));
      REQUIRE(element(y.view(), at) == doctest::Approx(product).epsilon(1e-6));
    });
  }
}
