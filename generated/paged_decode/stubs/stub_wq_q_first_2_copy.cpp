// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// wq_q_first_2_copy = copy(wq_q_first_2)
// wq_q_second_2_copy = copy(wq_q_second_2)
// wk_k_first_2_copy = copy(wk_k_first_2)
// wk_k_second_2_copy = copy(wk_k_second_2)
struct stub_wq_q_first_2_copy_elementwise {
  kgen::View<const float, 2> x;  // [64, *, 8]
  kgen::View<float, 2> out;      // [64, *, 8]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    out.store(at, x.load<W>(at));
  }
};

void stub_wq_q_first_2_copy(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_wq_q_first_2_copy_elementwise body{x.merge<0, 1>(), out.merge<0, 1>()};
  kgen::elementwise(body.x.shape(), body, stream);
}

}  // namespace graph_paged_decode
