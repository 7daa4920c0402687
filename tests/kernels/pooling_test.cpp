// Windows over images, element by element, against plain loops in double.
#include "kgen/pooling.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Form {
  Index<2> window, strides = {1, 1};
  Index<4> pads = {0, 0, 0, 0};
  Index<2> dilations = {1, 1};
};
const Form forms[] = {{{1, 1}},
                      {{2, 3}},
                      {{3, 3}, {2, 2}, {1, 1, 1, 1}},
                      {{2, 2}, {1, 3}, {0, 2, 1, 0}, {3, 2}},
                      {{1, 1}, {1, 1}, {2, 1, 0, 3}}};  // positions at which a window holds nothing

Index<4> result_shape(const Index<4>& image, const Form& form) {
  Index<4> shape = image;
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = form.dilations[axis] * (form.window[axis] - 1) + 1;
    shape[1 + axis] = (image[1 + axis] + form.pads[axis] + form.pads[2 + axis] - reach) / form.strides[axis] + 1;
  }
  return shape;
}

// The elements that the window of a position holds.
template <class T>
std::vector<double> held(const View<const T, 4>& x, const Form& form, const Index<4>& at) {
  std::vector<double> elements;
  for (std::int64_t h = 0; h < form.window[0]; ++h) {
    for (std::int64_t w = 0; w < form.window[1]; ++w) {
      const std::int64_t row = at[1] * form.strides[0] + h * form.dilations[0] - form.pads[0];
      const std::int64_t column = at[2] * form.strides[1] + w * form.dilations[1] - form.pads[1];
      if (row < 0 || row >= x.extent(1) || column < 0 || column >= x.extent(2)) continue;
      elements.push_back(element(x, Index<4>{at[0], row, column, at[3]}));
    }
  }
  return elements;
}

template <class T>
void check_maximum(const View<const T, 4>& x, double least) {
  for (const Form& form : forms) {
    Tensor<T, 4> out(result_shape(x.shape(), form));
    max_pool2d(x, form.window, form.strides, form.pads, form.dilations, out.view());
    for_each_position(out.shape, [&](Index<4> at) {
      double expected = least;
      for (const double each : held(x, form, at)) expected = std::max(expected, each);
      REQUIRE(element(out.view(), at) == expected);
    });
  }
}

template <class T>
void check_average(const View<const T, 4>& x, double tolerance) {
  for (const bool with_pads : {false, true}) {
    for (const Form& form : forms) {
      Tensor<T, 4> out(result_shape(x.shape(), form));
      average_pool2d(x, form.window, form.strides, form.pads, form.dilations, with_pads, out.view());
      for_each_position(out.shape, [&](Index<4> at) {
        const std::vector<double> elements = held(x, form, at);
        double sum = 0;
        for (const double each : elements) sum += each;
        const double count = with_pads ? double(form.window[0] * form.window[1]) : double(elements.size());
        const double result = element(out.view(), at);
        if (count == 0) {
          REQUIRE(std::isnan(result));
        } else {
          REQUIRE(std::abs(result - sum / count) <= tolerance);
        }
      });
    }
  }
}

struct Negated {  // a prologue, for which pads are no elements
  View<const float, 4> x;
  KGEN_FN Index<4> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    return Neg::apply(x.load<W>(at));
  }
};

struct Halved {  // an epilogue
  View<float, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> lanes) const {
    y.store(at, Mul::apply(lanes, 0.5f));
  }
};

const Index<4> shapes[] = {{1, 4, 3, 1}, {2, 7, 6, 5}, {1, 5, 9, 70}, {0, 4, 4, 3}, {2, 5, 5, 0}};

}  // namespace

TEST_CASE("max_pool2d: floats and integers") {
  for (const Index<4>& shape : shapes) {
    check_maximum<float>(random_tensor<float>(shape, 1).view(), -infinity);
    check_maximum<bf16>(random_tensor<bf16>(shape, 2).view(), -infinity);
    check_maximum<double>(random_tensor<double>(shape, 3).view(), -infinity);
    check_maximum<std::int8_t>(random_tensor<std::int8_t>(shape, 4, -100, 100).view(), -128);
    check_maximum<std::uint8_t>(random_tensor<std::uint8_t>(shape, 5, 0, 200).view(), 0);
  }
}

TEST_CASE("average_pool2d: with pads and without") {
  for (const Index<4>& shape : shapes) {
    check_average<float>(random_tensor<float>(shape, 1).view(), 1e-6);
    check_average<bf16>(random_tensor<bf16>(shape, 2).view(), 1e-2);
    check_average<double>(random_tensor<double>(shape, 3).view(), 1e-15);
  }
}

TEST_CASE("pooling: channels first, as transposed views") {
  const auto x = random_tensor<float>(Index<4>{2, 5, 8, 37}, 1);
  check_maximum<float>(x.view().permute<0, 2, 3, 1>(), -infinity);
  check_average<float>(x.view().permute<0, 2, 3, 1>(), 1e-6);
}

TEST_CASE("pooling: NaN and infinity stay") {
  Tensor<float, 4> x(Index<4>{1, 3, 3, 1}), out(Index<4>{1, 2, 2, 1});
  for (float& each : x.elements) each = 1;
  x.elements[0] = std::numeric_limits<float>::quiet_NaN();
  x.elements[8] = static_cast<float>(-infinity);
  const View<const float, 4> view = std::as_const(x).view();
  max_pool2d(view, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, out.view());
  CHECK((std::isnan(out.elements[0]) && out.elements[1] == 1 && out.elements[3] == 1));
  average_pool2d(view, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, false, out.view());
  CHECK((std::isnan(out.elements[0]) && out.elements[1] == 1 && out.elements[3] == -infinity));
}

TEST_CASE("max_pool2d: with a prologue and an epilogue") {
  const auto x = random_tensor<float>(Index<4>{2, 6, 5, 19}, 1, 1, 2);  // whose pads would be greater as 0
  const Form form{{3, 2}, {2, 1}, {1, 1, 1, 0}};
  Tensor<float, 4> y(result_shape(x.shape, form));
  max_pool2d(Negated{x.view()}, form.window, form.strides, form.pads, form.dilations, Halved{y.view()});
  for_each_position(y.shape, [&](Index<4> at) {
    double expected = -infinity;
    for (const double each : held(x.view(), form, at)) expected = std::max(expected, -each);
    REQUIRE(element(y.view(), at) == expected / 2);
  });
}

namespace {

// max_pool_with_indices, tap by tap, over the last axis of lines.
void check_indices(const Tensor<float, 3>& x, std::int64_t taps, std::int64_t stride, std::int64_t before,
                   std::int64_t behind, std::int64_t dilation, bool ceil_mode) {
  const std::int64_t length = x.shape[2], reach = (taps - 1) * dilation + 1;
  std::int64_t positions = 0;
  for (std::int64_t first = -before; first + (ceil_mode ? 1 : reach) <= length + (ceil_mode ? 0 : behind);
       first += stride, ++positions) {
    if (ceil_mode && first + before > 0 && first - stride + reach >= length + behind) break;
  }
  const Index<3> shape{x.shape[0], x.shape[1], positions};
  Tensor<float, 3> values(shape), alone(shape);
  Tensor<std::int64_t, 3> indices(shape);
  const Index<3> window{1, 1, taps}, strides{1, 1, stride}, dilations{1, 1, dilation};
  const Index<6> pads{0, 0, before, 0, 0, behind};
  max_pool_with_indices(x.view(), window, strides, pads, dilations, ceil_mode, StorageOrder::row_major, values.view(),
                        indices.view());
  max_pool(x.view(), window, strides, pads, dilations, ceil_mode, alone.view());
  for_each_position(shape, [&](Index<3> at) {
    float best = -infinity;
    std::int64_t place = -1;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t from = at[2] * stride - before + tap * dilation;
      if (from < 0 || from >= length || std::isnan(best)) continue;
      const std::int64_t number = (at[0] * x.shape[1] + at[1]) * length + from;
      const float value = x.elements[static_cast<std::size_t>(number)];
      if (place < 0 || value > best || std::isnan(value)) best = value, place = number;
    }
    INFO(taps, " taps, stride ", stride, ", pads ", before, " ", behind, ", ceil ", ceil_mode, " at ", at[2]);
    REQUIRE(element(indices.view(), at) == static_cast<double>(place));
    for (const double got : {element(values.view(), at), element(alone.view(), at)}) {
      REQUIRE((got == best || (std::isnan(got) && std::isnan(best))));
    }
  });
}

}  // namespace

TEST_CASE("pooling: lines of any length, long windows, the last one cut, NaN and infinity") {
  for (const std::int64_t length : {1, 7, 33, 150}) {
    auto x = random_tensor<float>(Index<3>{2, 3, length}, 9);
    x.elements[0] = -infinity;
    x.elements.back() = not_a_number;
    for (const bool ceil_mode : {false, true}) {
      check_indices(x, 1, 1, 0, 0, 1, ceil_mode);
      if (length >= 7) check_indices(x, 3, 2, 1, 2, 2, ceil_mode);
      if (length == 150) check_indices(x, 100, 7, 3, 0, 1, ceil_mode);
    }
  }
  check_indices(random_tensor<float>(Index<3>{0, 3, 9}, 9), 2, 1, 0, 0, 1, false);
  check_indices(random_tensor<float>(Index<3>{2, 3, 4}, 9), 2, 1, 3, 3, 1, false);  // some see nothing
}
