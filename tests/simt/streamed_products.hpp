// Weights of few bits with what a prologue makes of them, and products by them, for the tests of what multiplies these.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kgen/ops/conversion.hpp"
#include "products.hpp"

namespace kgen::simt_testing {

// Weights of few bits in groups along the depth, as stubs have them: [N, K / group, group], a scale for each group.
template <class Q>
struct Grouped {
  View<const Q, 2> q;
  Flattened<View<const bf16, 3>, 2, 1> scale;
  KGEN_FN Index<2> shape() const { return q.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(Cast<float>::apply(q.template load<W>(at)), scale.template load<W>(at));
  }
};
// With zero points of the same type.
template <class Q>
struct Offset {
  View<const Q, 2> q;
  Flattened<View<const Q, 3>, 2, 1> zero;
  Flattened<View<const float, 3>, 2, 1> scale;
  KGEN_FN Index<2> shape() const { return q.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    const auto steps =
        Sub::apply(Cast<float>::apply(q.template load<W>(at)), Cast<float>::apply(zero.template load<W>(at)));
    return Mul::apply(steps, scale.template load<W>(at));
  }
};
// A scale for each column.
template <class Q>
struct Scaled {
  View<const Q, 2> q;
  View<const bf16, 2> scale;
  KGEN_FN Index<2> shape() const { return q.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(Cast<float>::apply(q.template load<W>(at)), scale.template load<W>(at));
  }
};

template <class Q>
struct Weights {
  Tensor<Q, 3> q, zero;
  Tensor<bf16, 3> scale;
  Tensor<float, 3> wide_scale;

  Weights(std::int64_t K, std::int64_t N, std::int64_t group, std::uint32_t seed)
      : q(random_tensor<Q>(Index<3>{N, K / group, group}, seed)),
        zero(random_tensor<Q>(Index<3>{N, K / group, 1}, seed + 1)),
        scale(random_tensor<bf16>(Index<3>{N, K / group, 1}, seed + 2)),
        wide_scale(random_tensor<float>(Index<3>{N, K / group, 1}, seed + 3)) {}

  static auto down(const auto& tensor, Index<3> shape) {
    return std::as_const(tensor).view().template permute<1, 2, 0>().broadcast_to(shape);
  }
  Index<3> shape() const { return {q.shape[1], q.shape[2], q.shape[0]}; }
  Grouped<Q> grouped() const { return {down(q, shape()).template merge<0, 1>(), down(scale, shape())}; }
  Offset<Q> offset() const {
    return {down(q, shape()).template merge<0, 1>(), down(zero, shape()), down(wide_scale, shape())};
  }
  Scaled<Q> scaled() const {
    const View<const Q, 2> all = down(q, shape()).template merge<0, 1>();
    const View<const bf16, 2> first = down(scale, Index<3>{shape()[0], 1, shape()[2]}).template select<0>(0);
    return {all, first.broadcast_to(all.shape())};
  }
};

// Where codes of u4 would have kernels of their own: one of each kind of product has.
#if defined(KGEN_FEW_TYPES)
using Codes = i4;
#else
using Codes = u4;
#endif

// What the tensor cores are given of a prologue's element.
template <class T>
double expected_of(const auto& a, const auto& b, Index<2> at) {
  double sum = 0;
  for (std::int64_t k = 0; k < a.extent(1); ++k) {
    sum += element(a, Index<2>{at[0], k}) *
           static_cast<double>(static_cast<T>(b.template load<1>(Index<2>{k, at[1]}).data));
  }
  return sum;
}

// Exact: what its elements are rounded to on their way; double where they are not.
template <class Exact, class T>
void check_product(std::int64_t M, const auto& b, const std::string& launches, const auto& multiply) {
  const Index<2> extents = b.shape();
  const Matrix<T> a(Index<2>{M, extents[0]}, 1);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<float, 2> c(Index<2>{M, extents[1]});
    multiply(a.view(), order == simt::Order::forward ? b : as_weights(b), c.view());
    CHECK(device.take() == launches);
    for_each_position(c.shape, [&](Index<2> at) {
      const double value = expected_of<Exact>(a.view(), b, at);
      INFO(M, " x ", extents[1], " x ", extents[0], " at ", at[0], ", ", at[1]);
      REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-4 * (1 + static_cast<double>(extents[0])));
    });
  }
}

}  // namespace kgen::simt_testing
