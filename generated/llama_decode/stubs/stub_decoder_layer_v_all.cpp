// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/cache_update.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// k_all, v_all: cache_update
void stub_decoder_layer_v_all(kgen::View<float, 4> k_all, kgen::View<float, 4> v_all,
                              kgen::View<const float, 4> k_cache, kgen::View<const float, 4> v_cache,
                              kgen::View<const float, 4> k, kgen::View<const float, 4> v_heads,
                              kgen::View<const std::int64_t, 2> positions, kgen::Stream stream) {
  kgen::cache_update(k_cache, v_cache, k, v_heads, positions, k_all, v_all, stream);
}

}  // namespace graph_llama_decode
