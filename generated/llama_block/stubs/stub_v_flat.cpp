// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// q_flat, k_flat, v_flat: matmul
// normed is read once: 4096*B*S bytes of traffic saved.
void stub_v_flat(kgen::View<float, 3> q_flat, kgen::View<float, 3> k_flat, kgen::View<float, 3> v_flat,
                 kgen::View<const float, 3> normed, kgen::View<const float, 2> wq, kgen::View<const float, 2> wk,
                 kgen::View<const float, 2> wv, kgen::Stream stream) {
  kgen::matmul(normed.merge<0, 1>(), kgen::several(wq, wk, wv),
               kgen::several(q_flat.merge<0, 1>(), k_flat.merge<0, 1>(), v_flat.merge<0, 1>()), stream);
}

}  // namespace graph_llama_block
