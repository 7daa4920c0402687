// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// y = add(x, packed_matmul(attended_flat, wo_panels))
// projected never reaches memory: 512*B*S bytes of traffic saved.
struct stub_y_epilogue {
  kgen::View<const float, 2> x;  // [B, S, 64]
  kgen::View<float, 2> y;        // [B, S, 64]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> projected) const {
    y.store(at, kgen::Add::apply(x.load<W>(at), projected));
  }
};

void stub_y(kgen::View<float, 3> y, kgen::View<const float, 3> attended_flat, kgen::View<const float, 3> wo_panels,
            kgen::View<const float, 3> x, kgen::Stream stream) {
  const stub_y_epilogue epilogue{x.merge<0, 1>(), y.merge<0, 1>()};
  kgen::packed_matmul(attended_flat.merge<0, 1>(), wo_panels, /*padding=*/0, epilogue, stream);
}

}  // namespace graph_paged_decode
