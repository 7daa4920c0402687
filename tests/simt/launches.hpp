// What tests of launches share: a device that notes them, and programs whose results are checked.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/simt/executor.hpp"
#include "testing.hpp"

namespace kgen::simt_testing {

using namespace kgen::testing;

// The device as a test wants it, and what was launched on it.
struct TestDevice {
  simt::Device before = simt::device();
  std::vector<simt::Launch> launches;

  TestDevice() {
    simt::device().notice = [this](const simt::Launch& launch) { launches.push_back(launch); };
  }
  ~TestDevice() { simt::device() = before; }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  // "name xblocks, name xblocks", and begins anew.
  std::string take() {
    std::string text;
    for (const simt::Launch& launch : launches) {
      CHECK(launch.early);
      text += (text.empty() ? "" : ", ") + launch.name.substr(launch.name.find(": ") + 2) + " x" + std::to_string(launch.blocks);
    }
    launches.clear();
    return text;
  }
};

template <class T, int R>
struct Scale {
  View<const T, R> x, bias;
  View<T, R> y;
  template <int W>
  KGEN_FN void operator()(Index<R> at) const {
    y.store(at, Add::apply(Mul::apply(x.template load<W>(at), 2.0f), bias.template load<W>(at)));
  }
};

template <class T, int R>
void check_scale(View<const T, R> x, View<const T, R> bias, View<T, R> y) {
  std::vector<T> values;  // before the call: y may be x
  for_each_position(y.shape(), [&](Index<R> at) {
    const auto sum = static_cast<compute_t<T>>(2 * element(x, at)) + static_cast<compute_t<T>>(element(bias, at));
    values.push_back(static_cast<T>(sum));
  });
  elementwise_across(y.shape(), Scale<T, R>{x, bias, y});
  std::size_t i = 0;
  for_each_position(y.shape(), [&](Index<R> at) {
    REQUIRE(element(y, at) == static_cast<double>(values[i++]));
  });
}

template <class T, int R>
View<const T, R> read(const View<T, R>& view) {
  return view;
}

// Two results, a kept value, three reductions.
struct Norm {
  View<const float, 2> x, weight;
  View<float, 2> h, y, mean;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto [center, variance] = row.reduce(MeanVariance{}, x_row);
    const auto centred = row.keep(row.map(Sub{}, x_row, center));
    const auto greatest = row.reduce(Max{}, centred);
    const auto total = row.reduce(Sum{}, row.map(Exp{}, row.map(Sub{}, centred, greatest)));
    row.store(h, centred);
    row.store(y, row.map(Add{}, row.map(Mul{}, centred, row.load(weight)), row.map(Add{}, total, variance)));
    row.store_scalar(mean, center);
  }
};

// Results that lie in memory as x does.
struct NormResults {
  bool across;
  Tensor<float, 2> h, y, mean;
  explicit NormResults(Index<2> shape, bool across)
      : across(across), h(memory_shape(shape, across)), y(h.shape), mean(Index<2>{shape[0], 1}) {}
  View<float, 2> view(Tensor<float, 2>& tensor) const {
    return across ? tensor.view().permute<1, 0>() : tensor.view();
  }
  static Index<2> memory_shape(Index<2> shape, bool across) {
    return across ? Index<2>{shape[1], shape[0]} : shape;
  }
  friend bool operator==(const NormResults& a, const NormResults& b) {
    return a.h.elements == b.h.elements && a.y.elements == b.y.elements && a.mean.elements == b.mean.elements;
  }
};

template <std::int64_t Length = 0>
NormResults norm(View<const float, 2> x, View<const float, 2> weight) {
  NormResults results(x.shape(), x.stride(1) != 1);
  rows<1, Length>(x.shape(), Norm{x, weight, results.view(results.h), results.view(results.y), results.mean.view()});
  return results;
}

template <std::int64_t Length = 0>
void check_norm(View<const float, 2> x, View<const float, 2> weight) {
  NormResults results = norm<Length>(x, weight);
  const auto h = results.view(results.h), y = results.view(results.y);
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    const double length = static_cast<double>(x.extent(1));
    double sum = 0, squares = 0, greatest = -1e30, total = 0;
    for (std::int64_t j = 0; j < x.extent(1); ++j) sum += element(x, Index<2>{i, j});
    const double center = sum / length;
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      const double centred = element(x, Index<2>{i, j}) - center;
      squares += centred * centred;
      greatest = std::max(greatest, centred);
    }
    for (std::int64_t j = 0; j < x.extent(1); ++j) total += std::exp(element(x, Index<2>{i, j}) - center - greatest);
    REQUIRE(std::abs(element(results.mean.view(), Index<2>{i, 0}) - center) < 1e-5);
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      const double centred = element(x, Index<2>{i, j}) - center;
      const double expected = centred * element(weight, Index<2>{i, j}) + total + squares / length;
      REQUIRE(std::abs(element(h, Index<2>{i, j}) - centred) < 1e-5);
      REQUIRE(std::abs(element(y, Index<2>{i, j}) - expected) < 2e-5 * (1 + std::abs(expected)));
    }
  }
}

}  // namespace kgen::simt_testing
