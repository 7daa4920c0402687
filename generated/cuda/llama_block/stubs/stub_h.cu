// Written by kgen 0.1.0: kgen plan llama_block.yaml --target cuda --arch sm_90a
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is cd142e8e7b7bdbdb.

#include "kgen/matmul.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace llama_block {

// h = add(x, matmul(attended_flat, wo))   (llama_block.yaml:59-60)
// projected never reaches memory: 4096*B*S bytes of traffic saved.
struct stub_h_epilogue {
  kgen::View<const float, 2> x;  // [B, S, 512]
  kgen::View<float, 2> h;        // [B, S, 512]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> projected) const {
    h.store(at, kgen::Add::apply(x.load<W>(at), projected));  // :60
  }
};

void stub_h(kgen::View<float, 3> h, kgen::View<const float, 3> attended_flat, kgen::View<const float, 2> wo,
            kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_h_epilogue epilogue{x.merge<0, 1>(), h.merge<0, 1>()};
  kgen::matmul(attended_flat.merge<0, 1>(), wo, epilogue, stream);
}

}  // namespace llama_block
