// Convolutions by packed filters: the layout itself, and results that are those of conv2d, which are compared with
// double (convolution_test.cpp), to the last bit.
#include "kgen/packed_convolution.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

#if !defined(KGEN_GPU)

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Case {
  Index<4> x, filters;
  Index<2> strides = {1, 1};
  Index<4> pads = {0, 0, 0, 0};
  Index<2> dilations = {1, 1};

  std::int64_t group() const { return filters[2] == x[3] ? 1 : x[3]; }
  std::int64_t padding() const { return (filters[3] + 15) / 16 * 16 - filters[3]; }
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
    {{2, 5, 7, 3}, {3, 3, 3, 5}, {2, 1}, {1, 1, 1, 1}},
    {{1, 9, 8, 16}, {3, 2, 16, 33}, {1, 2}, {2, 0, 1, 3}},
    {{1, 11, 13, 6}, {2, 3, 6, 7}, {3, 2}, {4, 4, 4, 4}, {3, 1}},  // windows that lie outside of the image
    {{2, 14, 14, 20}, {7, 7, 20, 4}, {2, 2}, {3, 3, 3, 3}},
    {{1, 30, 30, 40}, {1, 1, 40, 64}, {2, 2}},
    {{2, 9, 11, 20}, {1, 1, 20, 200}, {3, 2}, {1, 0, 0, 2}},
    {{1, 20, 20, 48}, {3, 3, 48, 300}, {1, 1}, {1, 1, 1, 1}},  // more depth than one block, more filters than a tile
    {{0, 5, 5, 4}, {3, 3, 4, 6}},
    {{2, 5, 5, 0}, {3, 3, 0, 6}},
    {{2, 5, 5, 4}, {3, 3, 4, 0}},
    {{1, 0, 3, 4}, {1, 1, 4, 6}, {1, 1}, {1, 0, 1, 0}},  // nothing but pads
    // A filter for each channel: fewer than a panel has, as many, several panels and what is left.
    {{1, 6, 5, 3}, {3, 3, 1, 3}, {1, 1}, {1, 1, 1, 1}},
    {{2, 9, 8, 16}, {5, 5, 1, 16}, {2, 2}, {2, 2, 2, 2}},
    {{1, 7, 7, 72}, {3, 3, 1, 72}, {2, 1}, {0, 1, 1, 0}, {2, 1}},
    {{1, 6, 6, 205}, {3, 2, 1, 205}, {1, 1}, {5, 5, 5, 5}},
    {{2, 4, 40, 24}, {3, 3, 1, 24}, {1, 1}, {1, 1, 1, 1}},  // lines of many positions that see all taps
    {{1, 5, 43, 9}, {3, 5, 1, 9}, {1, 2}, {1, 2, 1, 2}, {1, 2}},
    // Few channels, which are brought together line by line.
    {{1, 4, 19, 2}, {1, 3, 2, 6}},
    {{2, 6, 21, 4}, {3, 3, 4, 20}, {2, 2}, {1, 1, 1, 1}},
};

template <class T, class F>
Tensor<T, 3> packed(const Case& c, const F& filters, Stream stream = {}) {
  Tensor<T, 3> panels(Index<3>{(c.filters[3] + 15) / 16, c.filters[0] * c.filters[1] * c.filters[2], 16});
  pack_filters(filters, panels.view(), stream);
  return panels;
}

template <class T, int R>
View<const T, R> constant(const Tensor<T, R>& tensor) {
  return View<const T, R>(const_cast<Tensor<T, R>&>(tensor).view());
}

template <class T>
void require_same(const Case& c, const Tensor<T, 4>& found, const Tensor<T, 4>& expected) {
  INFO("case ", &c - cases);
  REQUIRE(found.elements.size() == expected.elements.size());
  REQUIRE(std::memcmp(found.elements.data(), expected.elements.data(), sizeof(T) * found.elements.size()) == 0);
}

struct PlusOne {  // a prologue that makes something of 0
  View<const float, 4> x;
  KGEN_FN Index<4> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    return Add::apply(x.load<W>(at), 1.0f);
  }
};

struct BiasRelu {  // an epilogue
  View<const float, 4> bias;
  View<float, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> sum) const {
    y.store(at, Relu::apply(Add::apply(sum, bias.load<W>(at))));
  }
};

template <class T, class X>
void check(const Case& c, const X& x, Stream stream = {}) {
  const auto filters = random_tensor<T>(c.filters, 2);
  const auto panels = packed<T>(c, constant(filters), stream);
  Tensor<T, 4> found(c.result()), expected(c.result());
  packed_conv2d(x, constant(panels), {c.filters[0], c.filters[1]}, c.strides, c.pads, c.dilations, c.group(),
                c.padding(), found.view(), stream);
  conv2d(x, constant(filters), c.strides, c.pads, c.dilations, c.group(), expected.view(), stream);
  if (c.group() == 1) return require_same(c, found, expected);
  depthwise_conv2d(x, constant(filters), c.strides, c.pads, c.dilations, expected.view(), stream);
  require_same(c, found, expected);
}

}  // namespace

TEST_CASE("packed convolution: filter o's tap of channel g is in panel o / 16") {
  const Case c{{1, 4, 4, 5}, {3, 2, 5, 19}};
  const auto filters = random_tensor<float>(c.filters, 1);
  const auto turned = random_tensor<float>(Index<4>{19, 5, 3, 2}, 3);
  const auto panels = packed<float>(c, constant(filters));
  const auto others = packed<float>(c, constant(turned).permute<2, 3, 1, 0>());  // as PyTorch has them
  for_each_position(panels.shape, [&](Index<3> at) {
    const std::int64_t filter = at[0] * 16 + at[2];
    const Index<4> from{at[1] / 10, at[1] / 5 % 2, at[1] % 5, filter};
    const bool is_one = filter < 19;
    CHECK(element(constant(panels), at) == (is_one ? element(constant(filters), from) : 0.0));
    CHECK(element(constant(others), at) ==
          (is_one ? element(constant(turned), {filter, from[2], from[0], from[1]}) : 0.0));
  });
}

TEST_CASE_TEMPLATE("packed convolution: as conv2d, channels last and first, on some threads", T, float, double) {
  for (const Case& c : cases) {
    for (const int threads : {1, 3}) {
      Stream stream;
      stream.threads = threads;
      const auto last = random_tensor<T>(c.x, 1);
      const auto first = random_tensor<T>(Index<4>{c.x[0], c.x[3], c.x[1], c.x[2]}, 1);
      check<T>(c, constant(last), stream);
      check<T>(c, constant(first).template permute<0, 2, 3, 1>(), stream);
    }
  }
}

TEST_CASE("packed convolution: with a prologue and an epilogue") {
  for (const Case& c : cases) {
    const auto x = random_tensor<float>(c.x, 1), filters = random_tensor<float>(c.filters, 2);
    const auto bias = random_tensor<float>(Index<1>{c.filters[3]}, 3);
    const auto panels = packed<float>(c, constant(filters));
    const PlusOne prologue{constant(x)};
    Tensor<float, 4> found(c.result()), expected(c.result());
    const auto wide = constant(bias).broadcast_to(found.shape);
    packed_conv2d(prologue, constant(panels), {c.filters[0], c.filters[1]}, c.strides, c.pads, c.dilations, c.group(),
                  c.padding(), BiasRelu{wide, found.view()});
    if (c.group() == 1) {
      conv2d(prologue, constant(filters), c.strides, c.pads, c.dilations, 1, BiasRelu{wide, expected.view()});
    } else {
      depthwise_conv2d(prologue, constant(filters), c.strides, c.pads, c.dilations, BiasRelu{wide, expected.view()});
    }
    require_same(c, found, expected);
  }
}

#endif
