// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/flattened.hpp"
#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// v_heads_copy = copy(reshape(matmul(normed, wv)))
// v_flat never reaches memory: 2048*B*S bytes of traffic saved.
struct stub_v_heads_copy_epilogue {
  kgen::Flattened<kgen::View<float, 3>, 2, 1> v_heads_copy;  // [B, S, 4, 64]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> v_flat) const {
    v_heads_copy.store(at, v_flat);
  }
};

void stub_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 3> normed,
                       kgen::View<const float, 2> wv, kgen::Stream stream) {
  const stub_v_heads_copy_epilogue epilogue{v_heads_copy.merge<2, 3>()};
  kgen::matmul(normed.merge<0, 1>(), wv, epilogue, stream);
}

}  // namespace graph_llama_block
