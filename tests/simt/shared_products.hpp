// Products that several tests compute, compiled once for all of them: in shared_products.cpp, which defines KGEN_SHARED
// as `template`. A product of Hopper's is a hundred kernels, of which a call launches one.
#pragma once

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "shared.hpp"

namespace kgen::simt_testing {

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
using Operand = View<const T, 2>;
template <class T>
using Three = Several<Operand<T>, Operand<T>, Operand<T>>;
using Result = View<float, 2>;
using GatedAndOther = Several<Joint<2, Gated>, Result>;

}  // namespace kgen::simt_testing

#if defined(KGEN_WARPGROUPS)
namespace kgen::gpu {

using simt_testing::Operand, simt_testing::Result;

#define KGEN_SHARED_PRODUCT(T, B, C)                                                                               \
  KGEN_SHARED bool tensor_core_matmul<T>(const Operand<T>&, const B&, const C&, Stream, int);                      \
  KGEN_SHARED bool detail::tensor_core_matmul<T, false>(                                                           \
      const Operand<T>&, const B&, const C&, WarpgroupMatmulShape<several_count<B>>, const DeviceLimits&, Stream); \
  KGEN_SHARED bool detail::tensor_core_matmul<T, true>(                                                            \
      const Operand<T>&, const B&, const C&, WarpgroupMatmulShape<several_count<B>>, const DeviceLimits&, Stream); \
  KGEN_SHARED bool wave_matmul<T>(const Operand<T>&, const B&, const C&, Stream);                                  \
  KGEN_SHARED void plain_matmul(const Operand<T>&, const B&, const C&, Stream)
KGEN_SHARED_PRODUCT(bf16, Operand<bf16>, Result);
KGEN_SHARED_PRODUCT(bf16, Operand<bf16>, simt_testing::Residual);
KGEN_SHARED_PRODUCT(f16, Operand<f16>, Result);
KGEN_SHARED_PRODUCT(f16, simt_testing::Three<f16>, simt_testing::GatedAndOther);
#undef KGEN_SHARED_PRODUCT
KGEN_SHARED bool float_matmul(const Operand<float>&, const Operand<float>&, const Result&, Stream);
KGEN_SHARED void plain_matmul(const Operand<float>&, const Operand<float>&, const Result&, Stream);

}  // namespace kgen::gpu
#endif
