// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// wo_panels: matmul
void stub_wo_panels(kgen::View<float, 3> wo_panels, kgen::View<const float, 2> wo, kgen::Stream stream) {
  kgen::pack_columns(wo, wo_panels, stream);
}

}  // namespace graph_paged_decode
