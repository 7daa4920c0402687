// A structured kernel of two results that it gives at one position: what reads either, or both, is fused into it, and
// neither result need reach memory.
#pragma once

#include <cstdint>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace mine {

// Some lanes of one row of the product.
template <class AReal, class AImaginary, class BReal, class BImaginary, class Parts>
struct ComplexRowTimesMatrix {
  AReal a_real;            // [M, K]
  AImaginary a_imaginary;
  BReal b_real;            // [K, N]
  BImaginary b_imaginary;
  Parts parts;             // [M, N]: real, imaginary

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    using Lane = kgen::source_lane_t<BReal, 2>;
    kgen::Vec<Lane, W> real_sum(Lane(0)), imaginary_sum(Lane(0));
    for (std::int64_t k = 0; k < a_real.shape()[1]; ++k) {
      const kgen::Vec<Lane, W> left(a_real.template load<1>({at[0], k}).data);
      const kgen::Vec<Lane, W> turned(a_imaginary.template load<1>({at[0], k}).data);
      const auto right = b_real.template load<W>({k, at[1]});
      const auto right_turned = b_imaginary.template load<W>({k, at[1]});
      real_sum = real_sum + left * right - turned * right_turned;
      imaginary_sum = imaginary_sum + left * right_turned + turned * right;
    }
    kgen::store_to(parts, at, real_sum, imaginary_sum);
  }
};

// The product of two complex matrices, the parts of each apart, accumulated in f32 (f64 for f64). a: [M, K], b: [K, N].
template <kgen::Source<2> AReal, kgen::Source<2> AImaginary, kgen::Source<2> BReal, kgen::Source<2> BImaginary,
          kgen::JointSink<kgen::source_lane_t<BReal, 2>, 2, 2> Parts>
KGEN_KERNEL(complex_matmul)
void complex_matmul(const AReal& a_real, const AImaginary& a_imaginary, const BReal& b_real,
                    const BImaginary& b_imaginary, const Parts& parts, kgen::Stream stream = {})
requires kgen::Float<kgen::source_lane_t<AReal, 2>> && kgen::Float<kgen::source_lane_t<AImaginary, 2>> &&
         kgen::Float<kgen::source_lane_t<BReal, 2>> && kgen::Float<kgen::source_lane_t<BImaginary, 2>>
{
  kgen::elementwise(kgen::Index<2>{a_real.shape()[0], b_real.shape()[1]},
                    ComplexRowTimesMatrix<AReal, AImaginary, BReal, BImaginary, Parts>{a_real, a_imaginary, b_real,
                                                                                       b_imaginary, parts},
                    stream);
}

}  // namespace mine
