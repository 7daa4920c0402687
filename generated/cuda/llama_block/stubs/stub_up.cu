// Written by kgen 0.1.0: kgen plan llama_block.yaml --target cuda --arch sm_90a
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 013ae0ac699c1a69.

#include "kgen/matmul.hpp"
#include "kgen/view.hpp"

namespace llama_block {

// up = matmul(h_normed, w_up)   (llama_block.yaml:65)
void stub_up(kgen::View<float, 3> up, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> w_up,
             kgen::Stream stream) {
  kgen::matmul(h_normed.merge<0, 1>(), w_up, up.merge<0, 1>(), stream);
}

}  // namespace llama_block
