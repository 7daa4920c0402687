// Written by kgen 0.1.0: kgen plan kernel_choice.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 85a85d3dd77b1eb4.

#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/view.hpp"

namespace kernel_choice {

// y_low = gelu(low)   (kernel_choice.yaml:17)
struct stub_y_low_elementwise {
  kgen::View<const kgen::bf16, 1> low;  // [M, 192]
  kgen::View<kgen::bf16, 1> y_low;      // [M, 192]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    y_low.store(at, kgen::Gelu::apply(low.load<W>(at)));  // :17
  }
};

void stub_y_low(kgen::View<kgen::bf16, 2> y_low, kgen::View<const kgen::bf16, 2> low, kgen::Stream stream) {
  const stub_y_low_elementwise body{low.merge<0, 1>(), y_low.merge<0, 1>()};
  kgen::elementwise(body.low.shape(), body, stream);
}

}  // namespace kernel_choice
