// Convolutions that several tests compute, as shared_products.hpp has products.
#pragma once

#include "kgen/convolution.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "shared.hpp"

namespace kgen::simt_testing {

struct BiasResidual {
  View<const float, 4> bias, residual;
  View<bf16, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> sum) const {
    y.store(at, Relu::apply(Add::apply(Add::apply(sum, bias.load<W>(at)), residual.load<W>(at))));
  }
};

using Image = View<float, 4>;

}  // namespace kgen::simt_testing

#if defined(KGEN_WARPGROUPS)
namespace kgen {

#define KGEN_SHARED_CONVOLUTION(Out)                                                                             \
  KGEN_SHARED void detail::convolution<2, KnownConvolution<>, 96, 256>(                                          \
      const View<const bf16, 4>&, const View<const bf16, 4>&, const Index<2>&, const Index<4>&, const Index<2>&, \
      std::int64_t, const Out&, Stream)
KGEN_SHARED_CONVOLUTION(simt_testing::Image);
KGEN_SHARED_CONVOLUTION(simt_testing::BiasResidual);
#undef KGEN_SHARED_CONVOLUTION

#define KGEN_SHARED_DEPTHWISE(T)                                                                                       \
  KGEN_SHARED void detail::depthwise_convolution<2>(const View<const T, 4>&, const View<const T, 4>&, const Index<2>&, \
                                                    const Index<4>&, const Index<2>&, const simt_testing::Image&,      \
                                                    Stream)
KGEN_SHARED_DEPTHWISE(bf16);
KGEN_SHARED_DEPTHWISE(float);
#undef KGEN_SHARED_DEPTHWISE

}  // namespace kgen
#endif
