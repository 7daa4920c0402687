// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// v_heads_copy = copy(v_heads)
struct stub_decoder_layer_v_heads_copy_elementwise {
  kgen::View<const float, 2> v_heads;  // [B, S, 2, 16]
  kgen::View<float, 2> v_heads_copy;   // [B, S, 2, 16]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    v_heads_copy.store(at, v_heads.load<W>(at));
  }
};

void stub_decoder_layer_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 4> v_heads,
                                     kgen::Stream stream) {
  const stub_decoder_layer_v_heads_copy_elementwise body{v_heads.merge<1, 3>(), v_heads_copy.merge<1, 3>()};
  kgen::elementwise(body.v_heads.shape(), body, stream);
}

}  // namespace graph_llama_tiny
