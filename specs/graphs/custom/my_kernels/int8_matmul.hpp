// A structured kernel on packed weights. Layers that read one input are one call of it, and what takes the results of
// several of them rides in a joint epilogue.
#pragma once

#include <cstdint>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/several.hpp"

namespace mine {

// Some lanes of one row of the products with weights First to First + Count.
template <int First, int Count, class X, class Weights, class Sink>
struct RowTimesWeights {
  X x;              // [M, K]
  Weights weights;  // [K, N] each
  Sink sink;        // [M, N] of each product

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
      kgen::store_to(sink, at, row_times<W>(kgen::nth<First + I>(weights), at)...);
    }(std::make_integer_sequence<int, Count>{});
  }

 private:
  template <int W, class Weight>
  KGEN_FN auto row_times(const Weight& weight, kgen::Index<2> at) const {
    using Lane = kgen::source_lane_t<X, 2>;
    kgen::Vec<Lane, W> sum(Lane(0));
    for (std::int64_t k = 0; k < weight.extent(0); ++k) {
      const kgen::Vec<Lane, W> left(x.template load<1>({at[0], k}).data);
      sum = sum + left * kgen::convert<Lane>(weight.template load<W>({k, at[1]}));
    }
    return sum;
  }
};

// out[m, n] = sum over k of x[m, k] * weight[k, n], accumulated in x's type. x: [M, K], weight: [K, N].
template <kgen::Source<2> X, kgen::SeveralMemory<2, 3> W,
          kgen::SeveralSinks<kgen::source_lane_t<X, 2>, kgen::several_count<W>, 2> Out>
KGEN_KERNEL(int8_matmul)
void int8_matmul(const X& x, const W& weight, const Out& out, kgen::Stream stream = {})
requires kgen::Float<kgen::source_lane_t<X, 2>> && kgen::OneOf<kgen::view_element_t<kgen::first_of_t<W>>, std::int8_t>
{
  kgen::for_each_sink<kgen::several_count<W>>(out, [&]<int First, int Count>(const auto& sink) {
    using Sink = std::remove_cvref_t<decltype(sink)>;
    kgen::elementwise(kgen::Index<2>{x.shape()[0], kgen::nth<First>(weight).extent(1)},
                      RowTimesWeights<First, Count, X, W, Sink>{x, weight, sink}, stream);
  });
}

}  // namespace mine
