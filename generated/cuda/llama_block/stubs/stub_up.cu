// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// up = matmul(h_normed, w_up)
void stub_up(kgen::View<float, 3> up, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> w_up,
             kgen::Stream stream) {
  kgen::matmul(h_normed.merge<0, 1>(), w_up, up.merge<0, 1>(), stream);
}

}  // namespace graph_llama_block
