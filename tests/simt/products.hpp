// What tests of matrix products by tensor cores share: operands, sinks, and what is expected of them.
#pragma once

#include <algorithm>
#include <vector>

#include "launches.hpp"
#include "shared_products.hpp"

namespace kgen::simt_testing {

struct Hopper : TestDevice {
  Hopper() { simt::device().shared_bytes = 227 * 1024; }
};

// One that chooses tiles as if products were smaller, of so many multiprocessors.
struct SmallTiles : Hopper {
  explicit SmallTiles(int multiprocessors) {
    simt::device().small_tiles = true;
    simt::device().multiprocessors = multiprocessors;
  }
};

// A device without warpgroups of its own.
struct NoHopper : TestDevice {
  NoHopper() { simt::device().shared_bytes = 48 * 1024; }
};

// The launches of a product, those that copy operands ahead of it in a word.
inline std::string taken(TestDevice& device) {
  const std::string launches = device.take();
  const auto last = launches.rfind("lay_out");
  return last == std::string::npos ? launches : "copied, " + launches.substr(launches.find(", ", last) + 2);
}

// Rows of `pitch` elements, of which the first are shown, at an aligned address.
template <class T>
struct Matrix {
  static constexpr int lanes = 16 / sizeof(T);
  Tensor<T, 2> memory;
  Index<2> shape;
  Matrix(Index<2> shape, std::uint32_t seed)
      : memory(random_tensor<T>(Index<2>{shape[0], (shape[1] + lanes - 1) / lanes * lanes}, seed)), shape(shape) {}
  View<const T, 2> view() const { return View<const T, 2>(memory.elements.data(), shape, memory.view().strides()); }
};

// Operands as those of a model's weights, and all that kernels may read before they have awaited what is ahead.
template <class B>
B as_weights(B b) {
  std::vector<gpu::Span> spans;
  for_each_view(b, [&](auto& view) {
    view = view.with_lasting(true);
    spans.push_back(gpu::Span(view));
  });
  simt::device().lasts = [spans, others = simt::device().lasts](const void* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return (others && others(at)) ||
           std::any_of(spans.begin(), spans.end(), [&](const gpu::Span& span) { return span.contains(address); });
  };
  return b;
}

inline double expected(const auto& a, const auto& b, Index<2> at) {
  double sum = 0;
  for (std::int64_t k = 0; k < a.extent(1); ++k) sum += element(a, Index<2>{at[0], k}) * element(b, Index<2>{k, at[1]});
  return sum;
}

// c = a * b, of operands whose products floats add up: up to a rounding of each step of the depth.
inline void expect_product(const View<float, 2>& c, const auto& a, const auto& b) {
  for_each_position(c.shape(), [&](Index<2> at) {
    const double value = expected(a, b, at);
    INFO(a.extent(0), " x ", b.extent(1), " x ", a.extent(1), " at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(View<const float, 2>(c), at) - value) <= 1e-5 * (1 + static_cast<double>(a.extent(1))));
  });
}

template <class T>
void expect_product(const Tensor<float, 2>& c, const Matrix<T>& a, const Matrix<T>& b, const auto& more) {
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = more(at, expected(a.view(), b.view(), at));
    INFO("at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

// Products of so many rows with a bias and a residual: Views that repeat along columns or rows, lie across, or are in
// place. Each must be `launch`.
template <class Device = Hopper>
void check_epilogues(std::int64_t rows, const std::string& launch) {
  Device device;
  simt::device().multiprocessors = 1;
  const Index<2> shape{rows, 72}, lying{72, rows};
  const Matrix<bf16> a(Index<2>{rows, 40}, 1), b(Index<2>{40, 72}, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 72}, 3), of_row = random_tensor<float>(Index<2>{rows, 1}, 4);
  const auto residual = random_tensor<float>(shape, 5), across = random_tensor<float>(lying, 6);
  const auto added = [](const auto& first, const auto& second) {
    return [=](Index<2> at, double product) { return product + element(first, at) + element(second, at); };
  };
  const View<const float, 2> repeated = bias.view().broadcast_to(shape), scale = of_row.view().broadcast_to(shape);
  const View<const float, 2> turned = across.view().template permute<1, 0>();

  Tensor<float, 2> y(shape);
  matmul(a.view(), b.view(), Residual{repeated, residual.view(), y.view()});
  expect_product(y, a, b, added(repeated, residual.view()));
  y = Tensor<float, 2>(shape);
  matmul(a.view(), b.view(), Residual{scale, turned, y.view()});
  expect_product(y, a, b, added(scale, turned));
  y = residual;
  matmul(a.view(), b.view(), Residual{repeated, y.view(), y.view()});
  expect_product(y, a, b, added(repeated, residual.view()));
  Tensor<float, 2> written(lying);
  const View<float, 2> upright = written.view().template permute<1, 0>();
  matmul(a.view(), b.view(), Residual{repeated, residual.view(), upright});
  for_each_position(shape, [&](Index<2> at) { y.view().store(at, upright.template load<1>(at)); });
  expect_product(y, a, b, added(repeated, residual.view()));
  CHECK(device.take() == launch + ", " + launch + ", " + launch + ", " + launch);
}

// Three products of so many rows and so much depth, two of them jointly, in one launch.
template <class Device = Hopper>
void check_several(std::int64_t rows, std::int64_t depth, int multiprocessors, const std::string& launch,
                   bool lasting = false) {
  Device device;
  simt::device().multiprocessors = multiprocessors;
  const Matrix<f16> a(Index<2>{rows, depth}, 1), gate(Index<2>{depth, 136}, 2), up(Index<2>{depth, 136}, 3);
  const Matrix<f16> other(Index<2>{depth, 24}, 4);
  Tensor<float, 2> gated(Index<2>{rows, 136}), y(Index<2>{rows, 24});
  const auto right = [&](const auto& b) { return lasting ? as_weights(b.view()) : b.view(); };
  matmul(a.view(), several(right(gate), right(up), right(other)), several(joint<2>(Gated{gated.view()}), y.view()));
  expect_product(y, a, other, [](Index<2>, double product) { return product; });
  expect_product(gated, a, gate,
                 [&](Index<2> at, double product) { return product * expected(a.view(), up.view(), at); });
  CHECK(device.take() == launch);
}

}  // namespace kgen::simt_testing
