// Convolutions against a reference in double: strides, pads, dilations, groups, every float type, prologue and epilogue.
#include "kgen/convolution.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"
#if defined(KGEN_SIMT)
#include "shared_convolutions.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Case {
  Index<4> x, filters;
  Index<2> strides = {1, 1};
  Index<4> pads = {0, 0, 0, 0};
  Index<2> dilations = {1, 1};
  std::int64_t group = 1;

  Index<4> result() const {
    Index<4> shape{x[0], 0, 0, filters[3]};
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t padded = x[axis + 1] + pads[axis] + pads[axis + 2];
      shape[axis + 1] = (padded - dilations[axis] * (filters[axis] - 1) - 1) / strides[axis] + 1;
    }
    return shape;
  }
};

const Case cases[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}},
    {{2, 5, 7, 3}, {3, 3, 3, 5}},
    {{2, 5, 7, 3}, {3, 3, 3, 5}, {2, 1}, {1, 1, 1, 1}},
    {{1, 9, 8, 16}, {3, 2, 16, 33}, {1, 2}, {2, 0, 1, 3}},
    {{1, 11, 13, 8}, {3, 3, 8, 16}, {1, 1}, {2, 2, 2, 2}, {2, 3}},
    {{1, 11, 13, 6}, {2, 3, 6, 7}, {3, 2}, {4, 4, 4, 4}, {3, 1}},  // windows that lie outside of the image
    {{3, 6, 6, 8}, {3, 3, 4, 10}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
    {{1, 6, 5, 9}, {2, 2, 3, 12}, {1, 1}, {0, 1, 1, 0}, {1, 1}, 3},
    {{1, 4, 4, 5}, {3, 3, 1, 10}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 5},  // two filters a channel
    {{2, 14, 14, 20}, {7, 7, 20, 4}, {2, 2}, {3, 3, 3, 3}},
    {{1, 30, 30, 40}, {1, 1, 40, 64}},
    {{1, 20, 20, 48}, {3, 3, 48, 37}, {1, 1}, {1, 1, 1, 1}},          // more depth than one packed block
    {{2, 7, 9, 16}, {3, 3, 4, 16}, {1, 2}, {1, 0, 1, 2}, {2, 1}, 4},  // lanes along the channels of several groups
    {{1, 6, 8, 80}, {3, 2, 8, 80}, {2, 1}, {2, 1, 0, 1}, {1, 2}, 10},
    {{2, 6, 5, 96}, {2, 3, 16, 96}, {1, 1}, {3, 3, 3, 3}, {1, 1}, 6},
    {{1, 5, 5, 36}, {3, 3, 4, 36}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 9},
    {{0, 5, 5, 4}, {3, 3, 4, 6}},
    {{2, 5, 5, 0}, {3, 3, 0, 6}},
    {{2, 5, 5, 4}, {3, 3, 4, 0}},
    {{1, 0, 3, 4}, {1, 1, 4, 6}, {1, 1}, {1, 0, 1, 0}},  // nothing but pads
};

// The sum at one position, and that of magnitudes. `before`: what a prologue makes of an element of x.
template <class X, class F, class Before>
std::pair<double, double> exact(const Case& c, const X& x, const F& filters, Index<4> at, Before before) {
  const std::int64_t channels = c.filters[2], first = at[3] / (c.filters[3] / c.group) * channels;
  double sum = 0, magnitude = 0;
  for_each_position(Index<3>{c.filters[0], c.filters[1], channels}, [&](Index<3> tap) {
    const std::int64_t row = at[1] * c.strides[0] + tap[0] * c.dilations[0] - c.pads[0];
    const std::int64_t column = at[2] * c.strides[1] + tap[1] * c.dilations[1] - c.pads[1];
    if (row < 0 || row >= c.x[1] || column < 0 || column >= c.x[2]) return;
    const double product = before(element(x, Index<4>{at[0], row, column, first + tap[2]})) *
                           element(filters, Index<4>{tap[0], tap[1], tap[2], at[3]});
    sum += product;
    magnitude += std::abs(product);
  });
  return {sum, magnitude};
}

double unchanged(double value) { return value; }

template <class T, class X, class F>
void check(const Case& c, const X& x, const F& filters, double tolerance, Stream stream = {}) {
  Tensor<compute_t<T>, 4> out(c.result());
  conv2d(x, filters, c.strides, c.pads, c.dilations, c.group, out.view(), stream);
  for_each_position(out.shape, [&](Index<4> at) {
    const auto [sum, magnitude] = exact(c, x, filters, at, unchanged);
    INFO("case ", &c - cases, " at ", at[0], ", ", at[1], ", ", at[2], ", ", at[3]);
    REQUIRE(std::abs(element(out.view(), at) - sum) <= tolerance * (magnitude + 1e-30));
  });
}

struct PlusOne {  // a prologue that makes something of 0, of an operand that may have any name
  View<const float, 4> outside;
  KGEN_FN Index<4> shape() const { return outside.shape(); }
  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    return Add::apply(outside.load<W>(at), 1.0f);
  }
};

struct BiasRelu {  // an epilogue
  View<const bf16, 4> bias;
  View<bf16, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> sum) const {
    y.store(at, Relu::apply(Add::apply(sum, bias.load<W>(at))));
  }
};

struct Count {  // counts how often each element of the result is given
  View<std::int32_t, 4> visits;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W>) const {
    visits.store(at, Add::apply(visits.load<W>(at), 1));
  }
};

// The channels of each case as images of their own.
Case depthwise(Case c) {
  c.filters[2] = 1;
  c.filters[3] = c.group = c.x[3];
  return c;
}

}  // namespace

TEST_CASE_TEMPLATE("convolution: sizes, strides, pads, dilations and groups", T, KGEN_TYPES((bf16), float, double)) {
  const double tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;
  for (const Case& c : cases) {
    const auto x = random_tensor<T>(c.x, 1), filters = random_tensor<T>(c.filters, 2);
    check<T>(c, x.view(), filters.view(), tolerance);
  }
}

TEST_CASE_TEMPLATE("convolution: sums of integers are exact, and wrap", T, KGEN_TYPES((std::int32_t), std::int64_t)) {
  for (const Case& whole : cases) {
    for (const Case& c : {whole, depthwise(whole)}) {
      if (c.group == 0) continue;  // no channels
      Tensor<T, 4> x(c.x), filters(c.filters), out(c.result()), apart(c.result());
      std::mt19937_64 generator(3);
      for (T& each : x.elements) each = static_cast<T>(generator());
      for (T& each : filters.elements) each = static_cast<T>(generator() % 511) - 255;
      const View<const T, 4> image = x.view(), taps = filters.view();
      conv2d(image, taps, c.strides, c.pads, c.dilations, c.group, out.view());
      if (c.filters[2] == 1 && c.filters[3] == c.group) {
        depthwise_conv2d(image, taps, c.strides, c.pads, c.dilations, apart.view());
        REQUIRE(apart.elements == out.elements);
      }
      const std::int64_t channels = c.filters[2];
      for_each_position(out.shape, [&](Index<4> at) {
        std::uint64_t sum = 0;
        for_each_position(Index<3>{c.filters[0], c.filters[1], channels}, [&](Index<3> tap) {
          const std::int64_t row = at[1] * c.strides[0] + tap[0] * c.dilations[0] - c.pads[0];
          const std::int64_t column = at[2] * c.strides[1] + tap[1] * c.dilations[1] - c.pads[1];
          if (row < 0 || row >= c.x[1] || column < 0 || column >= c.x[2]) return;
          const Index<4> from{at[0], row, column, at[3] / (c.filters[3] / c.group) * channels + tap[2]};
          sum += static_cast<std::uint64_t>(image.template load<1>(from).data) *
                 static_cast<std::uint64_t>(taps.template load<1>(Index<4>{tap[0], tap[1], tap[2], at[3]}).data);
        });
        REQUIRE(out.view().template load<1>(at).data == static_cast<T>(sum));
      });
    }
  }
}

TEST_CASE("convolution: channels first, filters as PyTorch has them, slices and flips") {
  for (const Case& c : cases) {
    const auto x = random_tensor<float>(Index<4>{c.x[0], c.x[3], c.x[1], c.x[2]}, 1);
    const auto filters = random_tensor<float>(Index<4>{c.filters[3], c.filters[2], c.filters[0], c.filters[1]}, 2);
    check<float>(c, x.view().permute<0, 2, 3, 1>(), filters.view().permute<2, 3, 1, 0>(), 2e-6);
    const auto wide = random_tensor<float>(Index<4>{c.x[0], c.x[1], c.x[2], c.x[3] + 3}, 3);
    check<float>(c, wide.view().slice<3>(1, c.x[3]).flip<1>().flip<3>(), filters.view().permute<2, 3, 1, 0>().flip<0>(),
                 2e-6);
  }
}

TEST_CASE("convolution: the stride of filters' axis of extent 1 means nothing") {
  const Case c{{2, 9, 11, 7}, {2, 1, 7, 1}, {1, 1}, {0, 1, 1, 1}};
  const auto x = random_tensor<float>(c.x, 1);
  const auto apart = random_tensor<float>(Index<2>{2, 14}, 2);
  for (const std::int64_t stride : {1, 7, 14, 28}) {  // 14: as if rows and columns of filters were one axis
    const View<const float, 4> filters(apart.view().data(), c.filters, Index<4>{14, stride, 1, 1});
    check<float>(c, x.view(), filters, 2e-6);
  }
}

TEST_CASE("convolution: what lies outside is 0 behind the prologue; the epilogue converts") {
  for (const Case& c : cases) {
    const auto x = random_tensor<float>(c.x, 1), filters = random_tensor<float>(c.filters, 2);
    const auto bias = random_tensor<bf16>(Index<1>{c.filters[3]}, 3);
    Tensor<bf16, 4> y(c.result());
    const BiasRelu epilogue{bias.view().broadcast_to(y.shape), y.view()};
    conv2d(PlusOne{x.view()}, filters.view(), c.strides, c.pads, c.dilations, c.group, epilogue);
    for_each_position(y.shape, [&](Index<4> at) {
      const auto [sum, magnitude] = exact(c, x.view(), filters.view(), at, [](double value) { return value + 1; });
      const double expected = std::max(sum + element(bias.view(), Index<1>{at[3]}), 0.0);
      INFO("case ", &c - cases);
      REQUIRE(std::abs(element(y.view(), at) - expected) <= 0.004 * expected + 4e-6 * (magnitude + 1));
    });
  }
}

TEST_CASE("convolution: each element of the result is given once, also with few rows") {
  for (const Case& c : cases) {
    const auto x = random_tensor<float>(c.x, 1), filters = random_tensor<float>(c.filters, 2);
    Tensor<std::int32_t, 4> visits(c.result());
    std::fill(visits.elements.begin(), visits.elements.end(), 0);
    conv2d(x.view(), filters.view(), c.strides, c.pads, c.dilations, c.group, Count{visits.view()});
    for (const std::int32_t count : visits.elements) REQUIRE(count == 1);
  }
}

TEST_CASE("convolution: NaN outside of a window does not reach it") {
  const Case c{{1, 8, 8, 4}, {3, 3, 4, 8}, {1, 1}, {1, 1, 1, 1}};
  auto x = random_tensor<float>(c.x, 1);
  const auto filters = random_tensor<float>(c.filters, 2);
  x.elements[0] = not_a_number;  // at row 0, column 0
  x.elements[63 * 4] = infinity;  // at row 7, column 7
  Tensor<float, 4> out(c.result());
  conv2d(View<const float, 4>(x.view()), filters.view(), c.strides, c.pads, c.dilations, 1, out.view());
  for_each_position(out.shape, [&](Index<4> at) {
    const double value = element(out.view(), at);
    const bool sees_nan = at[1] <= 1 && at[2] <= 1, sees_infinity = at[1] >= 6 && at[2] >= 6;
    CHECK(std::isnan(value) == sees_nan);
    CHECK(std::isinf(value) == sees_infinity);
  });
}

TEST_CASE("convolution: every channel by itself") {
  for (const Case& whole : cases) {
    const Case c = depthwise(whole);
    const auto x = random_tensor<float>(c.x, 1), filters = random_tensor<float>(c.filters, 2);
    const auto bias = random_tensor<bf16>(Index<1>{c.filters[3]}, 3);
    Tensor<float, 4> out(c.result());
    Tensor<bf16, 4> y(c.result());
    depthwise_conv2d(x.view(), filters.view(), c.strides, c.pads, c.dilations, out.view());
    depthwise_conv2d(PlusOne{x.view()}, filters.view(), c.strides, c.pads, c.dilations,
                     BiasRelu{bias.view().broadcast_to(y.shape), y.view()});
    for_each_position(out.shape, [&](Index<4> at) {
      const auto [sum, magnitude] = exact(c, x.view(), filters.view(), at, unchanged);
      REQUIRE(std::abs(element(out.view(), at) - sum) <= 2e-6 * (magnitude + 1e-30));
      const auto [more, greater] = exact(c, x.view(), filters.view(), at, [](double value) { return value + 1; });
      const double expected = std::max(more + element(bias.view(), Index<1>{at[3]}), 0.0);
      REQUIRE(std::abs(element(y.view(), at) - expected) <= 0.004 * expected + 4e-6 * (greater + 1));
    });
  }
}

TEST_CASE("convolution: every channel of an image of bf16 by itself, wherever it lies") {
  std::vector<Case> all(std::begin(cases), std::end(cases));
  all.push_back({{1, 3, 1200, 130}, {3, 2, 1, 1}, {1, 1}, {1, 1, 1, 1}});  // not all channels are converted at a time
  all.push_back({{2, 9, 23, 70}, {3, 3, 1, 1}, {2, 1}, {2, 1, 2, 1}, {2, 2}});
  for (const Case& whole : all) {
    const Case c = depthwise(whole);
    const auto wide = random_tensor<bf16>(Index<4>{c.x[0], c.x[1], c.x[2], c.x[3] + 3}, 1);
    const auto x = wide.view().slice<3>(1, c.x[3]).flip<1>().flip<2>();
    const auto filters = random_tensor<bf16>(c.filters, 2);
    Tensor<float, 4> out(c.result());
    depthwise_conv2d(x, filters.view(), c.strides, c.pads, c.dilations, out.view());
    for_each_position(out.shape, [&](Index<4> at) {
      const auto [sum, magnitude] = exact(c, x, filters.view(), at, unchanged);
      REQUIRE(std::abs(element(out.view(), at) - sum) <= 2e-6 * (magnitude + 1e-30));
    });
  }
}

TEST_CASE("convolution: volumes, by groups and every channel by itself") {
  struct Volume {
    Index<5> x, filters;
    Index<3> strides, dilations;
    Index<6> pads;
    std::int64_t group;
  };
  const Volume volumes[] = {
      {{2, 4, 5, 6, 3}, {3, 2, 3, 3, 7}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1, 1, 1, 1}, 1},
      {{1, 7, 8, 6, 6}, {2, 3, 1, 3, 8}, {2, 1, 3}, {1, 2, 1}, {0, 2, 0, 1, 1, 0}, 2},
      {{1, 5, 4, 4, 5}, {3, 3, 2, 1, 5}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1, 1, 1, 1}, 5},
      {{1, 0, 2, 3, 2}, {1, 1, 1, 2, 3}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0, 1, 0, 0}, 1},  // nothing but pads
  };
  for (const auto& [x_shape, filter_shape, strides, dilations, pads, group] : volumes) {
    const auto narrow = random_tensor<bf16>(x_shape, 1), narrow_filters = random_tensor<bf16>(filter_shape, 2);
    Tensor<float, 5> x(x_shape), filters(filter_shape);  // the same numbers
    std::copy(narrow.elements.begin(), narrow.elements.end(), x.elements.begin());
    std::copy(narrow_filters.elements.begin(), narrow_filters.elements.end(), filters.elements.begin());
    Index<5> shape{x_shape[0], 0, 0, 0, filter_shape[4]};
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t padded = x_shape[axis + 1] + pads[axis] + pads[axis + 3];
      shape[axis + 1] = (padded - dilations[axis] * (filter_shape[axis] - 1) - 1) / strides[axis] + 1;
    }
    Tensor<float, 5> out(shape), apart(shape), of_narrow(shape);
    conv3d(x.view(), filters.view(), strides, pads, dilations, group, out.view());
    const bool by_itself = group == x_shape[4];
    if (by_itself) {
      depthwise_conv3d(x.view(), filters.view(), strides, pads, dilations, apart.view());
      depthwise_conv3d(narrow.view(), narrow_filters.view(), strides, pads, dilations, of_narrow.view());
      CHECK(of_narrow.elements == apart.elements);
    }
    for_each_position(shape, [&](Index<5> at) {
      const std::int64_t channels = filter_shape[3], first = at[4] / (filter_shape[4] / group) * channels;
      double sum = 0, magnitude = 0;
      for_each_position(first_axes<4>(filter_shape), [&](Index<4> tap) {
        Index<5> from{at[0], 0, 0, 0, first + tap[3]};
        for (int axis = 0; axis < 3; ++axis) {
          from[axis + 1] = at[axis + 1] * strides[axis] + tap[axis] * dilations[axis] - pads[axis];
          if (from[axis + 1] < 0 || from[axis + 1] >= x_shape[axis + 1]) return;
        }
        const double product = element(x.view(), from) * element(filters.view(), join(tap, Index<1>{at[4]}));
        sum += product;
        magnitude += std::abs(product);
      });
      REQUIRE(std::abs(element(out.view(), at) - sum) <= 2e-6 * (magnitude + 1e-30));
      if (by_itself) REQUIRE(std::abs(element(apart.view(), at) - sum) <= 2e-6 * (magnitude + 1e-30));
    });
  }
}
