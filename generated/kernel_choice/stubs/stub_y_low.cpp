// Written by kgen from kernel_choice.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/view.hpp"

namespace graph_kernel_choice {

// y_low = gelu(low)
struct stub_y_low_elementwise {
  kgen::View<const kgen::bf16, 1> low;  // [M, 192]
  kgen::View<kgen::bf16, 1> y_low;      // [M, 192]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    y_low.store(at, kgen::Gelu::apply(low.load<W>(at)));
  }
};

void stub_y_low(kgen::View<kgen::bf16, 2> y_low, kgen::View<const kgen::bf16, 2> low, kgen::Stream stream) {
  const stub_y_low_elementwise body{low.merge<0, 1>(), y_low.merge<0, 1>()};
  kgen::elementwise(body.low.shape(), body, stream);
}

}  // namespace graph_kernel_choice
