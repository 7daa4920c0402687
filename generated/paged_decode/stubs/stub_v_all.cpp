// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/cache_update.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// k_all, v_all: paged_cache_update
void stub_v_all(kgen::View<float, 4> k_all, kgen::View<float, 4> v_all, kgen::View<const float, 4> k_pages,
                kgen::View<const float, 4> v_pages, kgen::View<const float, 4> k, kgen::View<const float, 4> v_heads,
                kgen::View<const std::int32_t, 2> block_table, kgen::View<const std::int64_t, 2> positions,
                kgen::Stream stream) {
  kgen::paged_cache_update(k_pages, v_pages, k, v_heads, block_table, positions, k_all, v_all, stream);
}

}  // namespace graph_paged_decode
