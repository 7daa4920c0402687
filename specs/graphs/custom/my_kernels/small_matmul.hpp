// A structured kernel for an operator that has a built-in one: a product with few rows reads b once and packs nothing.
#pragma once

#include <cstdint>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace mine {

// Some lanes of one row of the product.
template <class T, class B, class C>
struct RowTimesMatrix {
  kgen::View<const T, 2> a;  // [M, K]
  B b;                 // [K, N]
  C c;                 // [M, N]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    using Lane = kgen::compute_t<T>;
    kgen::Vec<Lane, W> sum(Lane(0));
    for (std::int64_t k = 0; k < a.extent(1); ++k) {
      sum = sum + kgen::Vec<Lane, W>(a.template load<1>({at[0], k}).data) * b.template load<W>({k, at[1]});
    }
    kgen::store_to(c, at, sum);
  }
};

// c[m, n] = sum over k of a[m, k] * b[k, n], in f32 (f64 for f64).
template <kgen::Float T, kgen::Source<2> B, kgen::Sink<kgen::source_lane_t<B, 2>, 2> C>
KGEN_KERNEL(matmul, "M <= 16")
void small_matmul(const kgen::View<const T, 2>& a, const B& b, const C& c, kgen::Stream stream = {})
requires kgen::Float<kgen::source_lane_t<B, 2>>
{
  kgen::elementwise(kgen::Index<2>{a.extent(0), b.shape()[1]}, RowTimesMatrix<T, B, C>{a, b, c}, stream);
}

}  // namespace mine
