// A structured kernel: its operand x is a Source, so that what makes x may be fused into it, and its result is a Sink,
// so that what reads the result may be.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace mine {

// One position of the convolution. It reads x once for each of the taps.
template <class X, class T, class Y>
struct CausalConvolution {
  X x;                      // [B, L, C]
  kgen::View<const T, 2> weight;  // [K, C]
  Y y;                      // [B, L, C]

  template <int W>
  KGEN_FN void operator()(kgen::Index<3> at) const {
    using Lane = kgen::source_lane_t<X, 3>;
    const auto [batch, time, channel] = at.values;
    const std::int64_t taps = weight.extent(0);
    kgen::Vec<Lane, W> sum(Lane(0));
    for (std::int64_t tap = std::max<std::int64_t>(0, taps - 1 - time); tap < taps; ++tap) {
      sum =
          sum + weight.template load<W>({tap, channel}) * x.template load<W>({batch, time + tap - (taps - 1), channel});
    }
    kgen::store_to(y, at, sum);
  }
};

// y[b, t, c] = sum over k of weight[k, c] * x[b, t - K + 1 + k, c], in f32 (f64 for f64); x is 0 before its beginning.
template <kgen::Source<3> X, kgen::Float T, kgen::Sink<kgen::source_lane_t<X, 3>, 3> Y>
KGEN_KERNEL(causal_conv1d)
void causal_conv1d(const X& x, const kgen::View<const T, 2>& weight, const Y& y, kgen::Stream stream = {})
requires kgen::Float<kgen::source_lane_t<X, 3>>
{
  kgen::elementwise(x.shape(), CausalConvolution<X, T, Y>{x, weight, y}, stream);
}

}  // namespace mine
