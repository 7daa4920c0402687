// What tests of matrix products by tensor cores share: operands, sinks, and what is expected of them.
#pragma once

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "launches.hpp"

namespace kgen::simt_testing {

struct Hopper : TestDevice {
  Hopper() { simt::device().shared_bytes = 227 * 1024; }
};

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

inline double expected(const auto& a, const auto& b, Index<2> at) {
  double sum = 0;
  for (std::int64_t k = 0; k < a.extent(1); ++k) sum += element(a, Index<2>{at[0], k}) * element(b, Index<2>{k, at[1]});
  return sum;
}

struct Residual {
  View<const float, 2> bias, residual;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> c) const {
    y.store(at, Add::apply(Add::apply(c, bias.load<W>(at)), residual.load<W>(at)));
  }
};

struct Gated {
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> gate, Vec<float, W> up) const {
    y.store(at, Mul::apply(gate, up));
  }
};

template <class T>
void expect_product(const Tensor<float, 2>& c, const Matrix<T>& a, const Matrix<T>& b, const auto& more) {
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = more(at, expected(a.view(), b.view(), at));
    INFO("at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

}  // namespace kgen::simt_testing
